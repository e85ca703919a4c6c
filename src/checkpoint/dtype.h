/* Number formats of stored tensors, little-endian, and their conversion. */
#ifndef ATTNLEDGER_CHECKPOINT_DTYPE_H
#define ATTNLEDGER_CHECKPOINT_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct al_dtype {
	const char *name; /* "BF16": safetensors' names */
	size_t block_elements; /* so many elements ... */
	size_t block_bytes; /* ... take so many bytes: 1 and 2 for BF16, 2 and 1 for F4 */
	double epsilon; /* from 1 to the next larger number; 0: integers, or not converted */

	/* Any alignment. Every value that the target can hold is exact (subnormals, infinities,
	 * NaN); the others are rounded to nearest. NULL: listed, but not converted. */
	void (*to_double)(const unsigned char *bytes, size_t n, double *out);
	void (*to_float)(const unsigned char *bytes, size_t n, float *out);

	/* Rounds to nearest, ties to even; what is too large becomes infinite. NULL: not
	 * written. */
	void (*from_double)(const double *values, size_t n, unsigned char *bytes);
};

/* By name, or NULL. */
const struct al_dtype *al_dtype_find(const char *name);

/* The i-th of all, NULL behind the last. */
const struct al_dtype *al_dtype_at(size_t i);

/* The bytes of `n_elements`; false where they don't fill whole blocks or overflow. */
bool al_dtype_size(const struct al_dtype *dtype, int64_t n_elements, uint64_t *bytes);

#endif
