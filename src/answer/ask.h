/* Asking without a program around it: al_ask_with of the public header, with the commands that a
 * library has. */
#pragma once

#include "answer/session.h"

/* What a library has: of COMMANDS, in their order (NULL: it doesn't answer it), and of figures. */
struct al_abilities {
	const struct al_command *const *commands;
	al_drawer *draw; /* NULL: none */
};

bool al_ask_of(const struct al_abilities *library, size_t n_words, const char *const *words,
	const struct al_ask_options *options, struct al_answer **out,
	struct al_error *err) AL_MUST_CHECK;
