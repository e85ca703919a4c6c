/* Tokens that an encoder is to predict, of the sequences that a command reads. */
#pragma once

#include "answer/input.h"

/* The option, a text in the command's struct. */
#define AL_MASK_TOKEN_ROW(type, at) \
	OPTION_TEXT(type, at, "mask-token", "ID", \
		"token that replaces a masked one, where no tokenizer is next to the model")

/* NULL: the model has no head for masked tokens, or `why` there are none nevertheless. All lives in
 * the session's arena. `id` NULL: the tokenizer's. */
bool al_session_masked(struct al_session *session, struct al_running *running, const char *id,
	const struct al_masked **out, const char **why, struct al_error *err) AL_MUST_CHECK;

/* Which tokens are masked. */
void al_masked_note(struct al_table *table, const struct al_masked *masked);
