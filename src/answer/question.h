/* Questions within another answer, in the words of the command line: "cache gpt2 --seq 1024". */
#pragma once

#include "answer/session.h"

struct al_question {
	const char *text; /* as it is given */
	const char *name; /* of the command */
	const struct al_command *command;
	char **words; /* behind the command, ended by NULL */
	struct al_command_line line; /* of copies of the words */
};

/* Fails where the command isn't one whose answers are numbers. */
bool al_question_read(struct al_arena *arena, const char *text, struct al_question *out,
	struct al_error *err) AL_MUST_CHECK;

/* Its answer with these words in place of its own, without the command; it lives as long as the
 * arena. */
bool al_question_ask(struct al_arena *arena, const struct al_question *question, char **words,
	struct al_session **out, struct al_error *err) AL_MUST_CHECK;
