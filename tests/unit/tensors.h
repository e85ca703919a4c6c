/* Layers with a known structure, for the decompositions of the head tensor. */
#pragma once

#include "unit.h"

#include "linalg/heads.h"

struct sizes {
	size_t n_heads, n_kv_heads, d_head, d_query, d_key;
};

/* Owns its factors, in double and in single precision. */
struct layer {
	struct al_heads heads, single;
	struct al_matrix query, key;
	struct al_matrix_f query_f, key_f;
};

struct al_matrix matrix(size_t rows, size_t cols);
struct al_matrix gaussian_matrix(size_t rows, size_t cols, uint64_t seed);

struct layer gaussian_layer(struct sizes sizes, uint64_t seed);
/* 12 heads of 64 whose query and key lie near a shared space of `width` with singular values
 * k^-0.6. */
struct layer noisy_layer(size_t d_model, size_t width, uint64_t seed);
/* Exactly collaborative: `n_heads` heads of full rank d_head, every one of the n_heads*d_head/2
 * shared dimensions used by two heads. */
struct layer collaborative_layer(size_t d_model, size_t n_heads, size_t d_head, uint64_t seed);
void renew_single(struct layer *layer);
void finish_layer(struct layer *layer);

/* T, dense: column k, row i + n_heads*j is T[i][j][k]. */
struct al_matrix dense_tensor(const struct al_heads *heads);
