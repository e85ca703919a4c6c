/* Exact principal components of the heads' outputs, after batch normalization. */
#pragma once

#include "linalg/linalg.h"
#include "deacon/layer.h"
#include "deacon/stream.h"

struct al_pca_options {
	enum al_pca_architecture architecture;
	size_t n_heads, d_head;
	double epsilon; /* added to each variance before its root, as batch normalization does */
};

struct al_principal {
	struct al_pca_layer layer;
	int64_t n_tokens, n_left_out;
	double rounding; /* of the heads' outputs */
	size_t n_constant; /* features of the batch normalization without variance beyond it */
	struct al_scratch scratch; /* of what follows, and the layer's arrays */
	struct al_matrix covariance; /* [n_features][n_features], of the normalized features */
	struct al_matrix vectors; /* its eigenvectors, by columns */
	double *values; /* [n_features], largest first, none negative */
	double sum; /* of the values */
};

/* Of one attention module's heads, a row [n_heads][d_head] for each token, and the numbers of a
 * target (rows [1], without width where there is none). AL_EINPUT: no more tokens than features,
 * nothing but constants. On failure nothing is left to finish. */
bool al_principal_find(struct al_principal *out, const struct al_rows rows[2],
	const struct al_pca_options *options, struct al_error *err) AL_MUST_CHECK;

/* Sums over tokens of heads' outputs o, as a calibration records them. */
struct al_head_moments {
	struct al_view products; /* of o o^T: [n_heads*d_head][the same] */
	const double *sums; /* of o */
	int64_t n_tokens;
};

/* The same from moments alone: the direct and the average architecture ask no more of the tokens
 * than these. AL_EINPUT for the non-linear one, whose squares and products have moments of their
 * own. */
bool al_principal_of_moments(struct al_principal *out, const struct al_head_moments *moments,
	const struct al_pca_options *options, struct al_error *err) AL_MUST_CHECK;

void al_principal_finish(struct al_principal *principal);

/* How many components hold this share of the variance. */
size_t al_principal_count(const struct al_principal *principal, double share);

/* |X - X_m| / |X|, X_m being X in its first m components: the root of the share that is dropped. */
double al_principal_error(const struct al_principal *principal, size_t m);
