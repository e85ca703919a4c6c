/* The full library: it answers every command. */
#include "answer/ask.h"
#include "answer/draw.h"

#define COMMAND(name, ...) &al_command_##name,

bool al_ask_with(size_t n_words, const char *const *words, const struct al_ask_options *options,
	struct al_answer **out, struct al_error *err)
{
	static const struct al_command *const commands[] = {COMMANDS(COMMAND)};
	static const struct al_abilities full = {commands, al_draw_to_file};

	return al_ask_of(&full, n_words, words, options, out, err);
}
