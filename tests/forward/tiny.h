/* The cases of tests/data/forward: see tiny.c. */
#pragma once

#include "model/forward/forward.h"
#include "support/state_dict.h"

struct tiny {
	struct al_arena arena;
	const char *state_dict;
	const char *family; /* a file; NULL: the one that its config names */
	const char *more; /* members of its config.json beside the state dict's */
	int32_t *tokens;
	size_t *begin;
	struct al_batch batch;
	double *expected; /* [n_expected][width], a row a token */
	size_t n_expected, width;
};

struct tiny *tiny_read(const char *path);
void tiny_finish(struct tiny *tiny);

/* Writes model.safetensors and config.json. */
void tiny_write(const char *state_dict, const char *more, const struct test_folder *folder);
