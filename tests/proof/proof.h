/* Proofs by numbers: what the catalog claims of attention variants, both sides run on random
 * weights in double. A block is a variant's pass over the tensors that its file declares, no more
 * and no less, so that a declaration that its formulas don't need, or one that is missing, is seen.
 *
 * Everything is small (12 wide, 4 heads of 3, 5 tokens, causal) and written out in plain loops: it
 * is a definition to compare with, not a program to run models with. */
#pragma once

#include "base/random.h"
#include "catalog/catalog.h"

/* ---- blocks ---- */

enum {
	AL_PROOF_TOKENS = 5,
	AL_PROOF_D_MODEL = 12,
	AL_PROOF_HEADS = 4,
	AL_PROOF_D_HEAD = 3,
	AL_PROOF_SHARED = 7,
	AL_PROOF_PCA = 2,
};

/* Row after row. */
struct al_grid {
	double *items;
	size_t rows, cols;
};

/* A declared tensor: a vector is one column. */
struct al_proof_tensor {
	const char *name;
	struct al_grid grid;
	bool is_taken;
};

struct al_proof_block {
	struct al_arena *arena;
	const char *name; /* "gqa:n_kv_heads=2,biases=true" */
	const struct al_variant *variant;
	size_t n_kv_heads, d_shared, n_pca;
	bool has_biases;
	struct al_proof_tensor *tensors;
	size_t n_tensors;
	const char *problem; /* a tensor that the pass needs and doesn't find so; NULL: none */
};

/* A block of this configured variant, with random weights. */
bool al_proof_block_open(struct al_proof_block *block, struct al_arena *arena,
	struct al_catalog *catalog, const char *name, struct al_random *random,
	struct al_error *err) AL_MUST_CHECK;
/* A tensor of that name; where there is none, or another shape, zeros and a problem. */
struct al_grid al_proof_take(struct al_proof_block *block, const char *name, size_t rows,
	size_t cols);
/* y [tokens][d_model] of x [tokens][d_model]. A variant without a pass is an error. */
bool al_proof_run(struct al_proof_block *block, struct al_grid x, struct al_grid *y,
	struct al_error *err) AL_MUST_CHECK;

struct al_grid al_grid_new(struct al_arena *arena, size_t rows, size_t cols);
static inline double *al_grid_at(struct al_grid grid, size_t row, size_t col)
{
	return &grid.items[row * grid.cols + col];
}
/* The largest absolute difference of two grids of one shape. */
double al_grid_difference(struct al_grid a, struct al_grid b);

/* ---- claims ---- */

#define AL_PROOF_TOLERANCE 1e-12

struct al_proof {
	const char *id, *claim;
	bool is_compared; /* it has two sides */
	double difference; /* the largest of any number of both sides */
	const char *problem; /* NULL: none */
};

struct al_proofs {
	struct al_proof *items;
	size_t n, room;
};

static inline bool al_proof_holds(const struct al_proof *proof)
{
	return !proof->problem && proof->difference <= AL_PROOF_TOLERANCE;
}

bool al_proofs_run(struct al_proofs *proofs, struct al_arena *arena, struct al_catalog *catalog,
	uint64_t seed, struct al_error *err) AL_MUST_CHECK;
