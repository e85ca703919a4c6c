/* Asking without a program around it: al_ask_with of the public header, with the commands that a
 * library has. */
#pragma once

#include "answer/session.h"

/* `commands`: of COMMANDS, in their order; NULL: the library doesn't answer it. */
bool al_ask_of(const struct al_command *const *commands, size_t n_words, const char *const *words,
	const struct al_ask_options *options, struct al_answer **out,
	struct al_error *err) AL_MUST_CHECK;
