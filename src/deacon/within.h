/* Sums of products of heads within each dimension: of rows [n_heads][d_head] the sums of x_ij and
 * of x_ij x_kj over tokens, for all heads i, k and each dimension j.
 *
 * This is all that the direct architecture needs, and a d_head-th of the Gram matrix of rows. */
#pragma once

#include "deacon/stream.h"

struct al_within {
	size_t n_heads, d_head;
	const double *shift; /* [n_heads*d_head], taken off every row; the caller's */
};

/* The statistic of rows of n_heads*d_head numbers; `within` outlives it. */
struct al_statistic al_within_statistic(const struct al_within *within);

/* Sums: of x_ij, and of x_ij x_kj, where x is shifted. */
double al_within_sum(const struct al_within *within, const double *sums, size_t head, size_t j);
double al_within_product(const struct al_within *within, const double *sums, size_t i, size_t k,
	size_t j);
