/* Sums, and sums of products of all pairs of columns, of rows that are made from tokens' rows: the
 * Gram matrix of features, and their products with a target. */
#pragma once

#include "linalg/linalg.h"
#include "deacon/stream.h"

struct al_gram_sums {
	size_t n_columns; /* of a made row */
	size_t rows_each; /* made rows of a token: 1, or one a dimension */
	/* Makes out[rows_each][n_columns] of one token's row. */
	void (*make)(const void *context, const double *row, double *out);
	const void *context;
	size_t row_width; /* of the token's row; n_targets numbers follow it */
	size_t n_targets; /* 0: no target; otherwise rows_each is 1 */
	const double *target_shift; /* [n_targets], taken off the targets */
};

struct al_statistic al_gram_statistic(const struct al_gram_sums *gram);

/* Its sums, one after the other: of columns [n_columns], of their products [n_columns][n_columns];
 * of targets [n_targets], of products with them [n_columns][n_targets], column-major, and of their
 * squares. */
struct al_gram_parts {
	double *columns, *products, *targets, *cross, *squares;
};
struct al_gram_parts al_gram_parts(const struct al_gram_sums *gram, double *sums);
