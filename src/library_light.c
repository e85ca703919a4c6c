/* The light library: what exact numbers alone answer, from files that need no unpacking. */
#include "answer/ask.h"
#include "formats/format.h"

#define HAS_LIGHT(name) &al_command_##name
#define HAS_FULL(name) NULL
#define COMMAND(name, program, ...) HAS_##program(name),

#define FORMAT_LIGHT(name) &al_format_##name,
#define FORMAT_FULL(name)
#define FORMAT(name, program) FORMAT_##program(name)

const struct al_format *const al_formats[] = {AL_FORMATS(FORMAT) NULL};

bool al_ask_with(size_t n_words, const char *const *words, const struct al_ask_options *options,
	struct al_answer **out, struct al_error *err)
{
	static const struct al_command *const commands[] = {COMMANDS(COMMAND)};
	static const struct al_abilities light = {commands, NULL};

	return al_ask_of(&light, n_words, words, options, out, err);
}
