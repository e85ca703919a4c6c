/* How numbers are stored: bytes of a block of so many, from fp64 down to the block formats of GGUF.
 * One table for everything that counts bytes. */
#ifndef ATTNLEDGER_BASE_STORAGE_H
#define ATTNLEDGER_BASE_STORAGE_H

#include <gmp.h>
#include <stdint.h>

#include "base/error.h"

struct al_storage {
	const char *name; /* "bf16", "q8_0" */
	int64_t elements, bytes; /* of one block; 1 element: a plain number */
	const char
		*fallback; /* for rows that are no whole number of blocks; NULL: none is needed */
};

/* By name, in either case, or by an alias ("fp16"). An unknown name names the nearest. */
bool al_storage_find(const char *name, const struct al_storage **out,
	struct al_error *err) AL_MUST_CHECK;

/* The format that a row of so many numbers gets: the asked one, or what it falls back to. */
const struct al_storage *al_storage_of_row(const struct al_storage *storage, int64_t row);

/* out = bytes of `elements` numbers, which fill whole blocks or don't (then exactly the
 * fraction). */
void al_storage_bytes(const struct al_storage *storage, mpq_srcptr elements, mpq_t out);

/* What a file of a quantised model stores its tensors as. */
struct al_file_type {
	const char *name; /* "q4_k_m" */
	const char *matrix; /* plain matrices */
	const char *expert; /* matrices of experts */
	const char *output; /* the matrix that makes the logits, be it the embedding */
	const char *more; /* values and down projections of some layers; NULL: as the others */
	const char *vector; /* biases, norms, routers, position tables */
};

/* The file type of that name; or, where it is a storage, a file of that: a block format for
 * matrices and f32 for the rest, a plain one for all. */
bool al_file_type_find(const char *name, struct al_file_type *out,
	struct al_error *err) AL_MUST_CHECK;

/* Does layer i of n get `more`? The first and last eighth, and every third between. */
bool al_file_type_gives_more(int64_t layer, int64_t n_layers);

#endif
