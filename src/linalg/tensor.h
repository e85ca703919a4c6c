/* Shared by the decompositions of the head tensor. */
#pragma once

#include "linalg/heads.h"
#include "linalg/internal.h"
#include "linalg/tucker.h"

/* An orthonormal basis of the `rank` leading left singular vectors of L; with rank 0, of as many as
 * leave at most `allowance` of ||L||^2 behind. `basis` is allocated: [l.rows][rank]. */
bool al_leading(struct al_view l, size_t rank, double allowance, struct al_matrix *basis,
	struct al_error *err) AL_MUST_CHECK;

/* The smallest rank, 1 or more, that leaves at most `allowance` of the sum of the values behind. */
size_t al_smallest_rank(const double *values, size_t n, double allowance);

/* S_ij = <T_i, T_j>, [n_heads][n_heads]; heads in double precision. */
bool al_heads_gram(const struct al_heads *heads, struct al_matrix s,
	struct al_error *err) AL_MUST_CHECK;

/* One mode of the tensor: `own` spans it, `other` weighs it. Both hold d_head columns per head. */
struct al_mode {
	struct al_view own, other;
	size_t n_own, n_other;
};

static inline struct al_mode al_query_mode(const struct al_heads *h)
{
	return (struct al_mode){h->query, h->key, h->n_heads, h->n_kv_heads};
}

static inline struct al_mode al_key_mode(const struct al_heads *h)
{
	return (struct al_mode){h->key, h->query, h->n_kv_heads, h->n_heads};
}

/* L with L L^T the Gram matrix of the mode's unfolding: [own.rows][own.cols], block b is own_b
 * times the triangle of all other factors that it meets. */
bool al_mode_weigh(struct al_scratch *scratch, const struct al_mode *mode, struct al_matrix *l,
	struct al_error *err) AL_MUST_CHECK;

/* The random range finder: both bases of a partial decomposition, in single precision. `norm` is
 * ||T||^2. */
bool al_tucker_find_ranges(const struct al_heads *heads, double norm,
	const struct al_tucker_options *options, struct al_tucker *out,
	struct al_error *err) AL_MUST_CHECK;
