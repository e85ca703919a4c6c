/* The full library: it answers every command. */
#include "answer/ask.h"

#define COMMAND(name, ...) &al_command_##name,

bool al_ask_with(size_t n_words, const char *const *words, const struct al_ask_options *options,
	struct al_answer **out, struct al_error *err)
{
	static const struct al_command *const commands[] = {COMMANDS(COMMAND)};

	return al_ask_of(commands, n_words, words, options, out, err);
}
