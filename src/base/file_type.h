/* File types: which number format a file of a quantised model stores each of its tensors in. */
#ifndef ATTNLEDGER_BASE_FILE_TYPE_H
#define ATTNLEDGER_BASE_FILE_TYPE_H

#include "base/format.h"

struct al_file_type {
	const char *name; /* "q4_k_m" */
	const char *matrix; /* plain matrices */
	const char *expert; /* matrices of experts */
	const char *output; /* the matrix that makes the logits, be it the embedding */
	const char *more; /* values and down projections of some layers; NULL: as the others */
	const char *vector; /* biases, norms, routers, position tables */
};

/* The file type of that name; or, where it is a number format, a file of that: a block format for
 * matrices and f32 for the rest, a plain one for all. */
bool al_file_type_find(const char *name, struct al_file_type *out,
	struct al_error *err) AL_MUST_CHECK;

/* Does layer i of n get `more`? The first and last eighth, and every third between. */
bool al_file_type_gives_more(int64_t layer, int64_t n_layers);

#endif
