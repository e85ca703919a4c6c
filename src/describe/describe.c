/* attnledger-describe man [COMMAND] | bash | zsh | fish: one description, on standard output. */
#include "describe/describe.h"

#include <stdio.h>
#include <string.h>

#define COMMAND(name, program, summary) {#name, summary, &al_command_##name},

const struct al_described al_described[] = {COMMANDS(COMMAND)};
const size_t al_n_described = sizeof(al_described) / sizeof(*al_described);

enum al_completion al_completion(const struct al_option_row *row)
{
	if (row->n_words > 0)
		return AL_COMPLETE_WORDS;
	if (!row->argument)
		return AL_COMPLETE_ANY;
	return strstr(row->argument, "FILE")	    ? AL_COMPLETE_FILE
		: strcmp(row->argument, "DIR") == 0 ? AL_COMPLETE_FOLDER
						    : AL_COMPLETE_ANY;
}

struct al_topics al_command_topics(const struct al_command *command)
{
	static const struct {
		const char *word, *topic;
	} topics[] = {{"MODEL", "models"}, {"VARIANT", "variants"}, {"SCENARIO", "scenarios"}};
	struct al_topics found = {{NULL}};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(topics) / sizeof(*topics); i++)
		if (command->words && strstr(command->words, topics[i].word))
			found.of[n++] = topics[i].topic;
	return found;
}

static bool describe(int argc, char **argv, struct al_text *out)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "man") == 0 && argc == 3) {
		for (size_t i = 0; i < al_n_described; i++)
			if (strcmp(al_described[i].name, argv[2]) == 0)
				al_describe_command(&al_described[i], out);
	} else if (strcmp(what, "man") == 0)
		al_describe_tool(out);
	else if (strcmp(what, "commands") == 0)
		for (size_t i = 0; i < al_n_described; i++)
			al_text_addf(out, "%s\n", al_described[i].name);
	else if (strcmp(what, "bash") == 0)
		al_describe_bash(out);
	else if (strcmp(what, "zsh") == 0)
		al_describe_zsh(out);
	else if (strcmp(what, "fish") == 0)
		al_describe_fish(out);
	return out->length > 0;
}

int main(int argc, char **argv)
{
	struct al_text out;

	al_text_init(&out);
	bool ok = describe(argc, argv, &out)
		&& fwrite(out.data, 1, out.length, stdout) == out.length && fflush(stdout) == 0;
	if (!ok)
		fputs("usage: attnledger-describe man [COMMAND] | commands | bash | zsh | fish\n",
			stderr);
	al_text_finish(&out);
	return ok ? 0 : 2;
}
