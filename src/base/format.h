/* Number formats, from fp64 down to the block formats of GGUF: one table for everything that
 * counts, reads or writes stored numbers. Bytes are little-endian. */
#pragma once

#include <gmp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* The longest block of those that are converted, in elements. */
enum { AL_DTYPE_ALIASES = 3, AL_MOST_BLOCK_ELEMENTS = 256 };

struct al_dtype {
	const char *name; /* "bf16", in options and the catalog; NULL: they have no word for it */
	const char *aliases[AL_DTYPE_ALIASES]; /* "fp16" for "f16" */
	const char *stored; /* "BF16", as in safetensors; NULL: no checkpoint stores it */
	size_t block_elements; /* so many elements ... */
	size_t block_bytes; /* ... take so many bytes: 1 and 2 for BF16, 2 and 1 for F4 */
	const char *fallback; /* what rows get that fill no whole blocks; NULL: none is needed */
	double epsilon; /* from 1 to the next larger number, of blocks from the largest to the next
			   smaller one; 0: integers, or not converted */
	bool needs_scale; /* numbers mean little without their scale */

	/* `n` elements, which fill whole blocks, at any alignment. Every value that the target can
	 * hold is exact (subnormals, infinities, NaN); the others are rounded to nearest. NULL:
	 * listed, but not converted. */
	void (*to_double)(const unsigned char *bytes, size_t n, double *out);
	void (*to_float)(const unsigned char *bytes, size_t n, float *out);

	/* Rounds to nearest, ties to even; what is too large becomes infinite. NULL: not
	 * written. */
	void (*from_double)(const double *values, size_t n, unsigned char *bytes);

	/* The same with the least squared error, where that of each number counts `weights` [n]
	 * times. NULL: what a number is written as depends on no other one. */
	void (*from_weighted)(const double *values, const double *weights, size_t n,
		unsigned char *bytes);
};

/* By name, in either case, or by an alias. An unknown name names the nearest. */
bool al_dtype_find(const char *name, const struct al_dtype **out,
	struct al_error *err) AL_MUST_CHECK;

/* The same without an error: NULL where there is none. */
const struct al_dtype *al_dtype_named(const char *name);

/* Adds all names and aliases, for messages. */
void al_dtype_add_names(struct al_names *names);

/* What files call it, else what options do. */
const char *al_dtype_title(const struct al_dtype *dtype);

/* By the name that safetensors has for it, in its case; or NULL. */
const struct al_dtype *al_dtype_stored(const char *stored);

/* The i-th of all, NULL after the last. */
const struct al_dtype *al_dtype_at(size_t i);

/* The format that a row of so many numbers gets: the asked one, or what it falls back to. */
const struct al_dtype *al_dtype_of_row(const struct al_dtype *dtype, int64_t row);

/* The same, where Q4_K stands for formats that aren't written. */
const struct al_dtype *al_dtype_of_written_row(const struct al_dtype *dtype, int64_t row);

/* The bytes of `n_elements`; false where they don't fill whole blocks or overflow. */
bool al_dtype_size(const struct al_dtype *dtype, int64_t n_elements, uint64_t *bytes);

/* out = bytes of `elements` numbers, which fill whole blocks or don't (then exactly the
 * fraction). */
void al_dtype_exact_bytes(const struct al_dtype *dtype, mpq_srcptr elements, mpq_t out);
