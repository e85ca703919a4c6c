/* Checkpoints of known numbers, for tests of all that reads them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIGHT_DIMS = 4 };

struct weight {
	const char *name;
	const char *dtype; /* "F32"; one that can't be written holds bytes 0, 1, 2, ... */
	int64_t shape[WEIGHT_DIMS];
	size_t n_dims;
	const double *values; /* in storage order; NULL: normal, seeded by the name */
};

/* The product of the shape. */
size_t weight_elements(const struct weight *weight);

/* Independent standard normal numbers; the same seed gives the same numbers everywhere. */
void fill_normal(double *values, size_t n, uint64_t seed);

/* Writes a safetensors file with the weights in this order. What fails ends the test. */
void write_weights(const char *path, const struct weight *weights, size_t n_weights);

/* Writes a safetensors file of any header, right or wrong, and `data_bytes` bytes 0, 1, 2, ... */
void write_header(const char *path, const char *header, size_t data_bytes);

/* Writes a column-major matrix as an .npy file, as al_npy_add does. */
void write_npy(const char *path, const double *values, size_t rows, size_t cols, bool transposes);
