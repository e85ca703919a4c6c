/* Sequences of tokens from a file: numpy's .npy of integers, [tokens] or [sequences][tokens], or
 * text, integers with blanks or commas between them, a sequence a line (empty lines are none). */
#pragma once

#include "base/base.h"

struct al_tokens {
	int32_t *items; /* sequence i is items[begin[i] .. begin[i + 1]) */
	size_t *begin; /* [n_sequences + 1] */
	size_t n_sequences, items_room, begin_room;
};

void al_tokens_init(struct al_tokens *tokens);
void al_tokens_finish(struct al_tokens *tokens);

/* Adds a token to the sequence at hand; ends that sequence. */
void al_tokens_add(struct al_tokens *tokens, int32_t token);
void al_tokens_add_all(struct al_tokens *tokens, const int32_t *items, size_t n);
void al_tokens_end_sequence(struct al_tokens *tokens);

/* A file without sequences, and a number that no token can have, are refused. On failure nothing is
 * left to finish. */
bool al_tokens_read(struct al_tokens *tokens, const char *path, struct al_error *err) AL_MUST_CHECK;

/* The same of bytes in memory; `path` names them in errors. */
bool al_tokens_parse(struct al_tokens *tokens, const char *path, const char *bytes, size_t n,
	struct al_error *err) AL_MUST_CHECK;
