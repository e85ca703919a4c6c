/* The regression that attention's output projection is (the paper's equation 8): a target Z of
 * d_model numbers per token, as linear as may be in what the PCA layer lets through. */
#pragma once

#include "deacon/principal.h"

/* All that a least-squares fit asks of the tokens: second moments, means taken off. A column is the
 * number of a feature, or of a component, in one dimension: [m][width] of them. */
struct al_target_moments {
	struct al_scratch scratch; /* of what follows */
	size_t n_targets;
	int64_t n_tokens;
	int64_t n_left_out; /* tokens with numbers that aren't finite, in either */
	struct al_matrix features; /* [columns][columns], E u u^T */
	struct al_matrix cross; /* [columns][n_targets], E u z^T */
	double squares; /* E |z|^2 */
	struct al_matrix means; /* that were taken off: [columns][1] */
	double *target_mean; /* [n_targets] */
};

/* Of heads (rows [0]) and the target (rows [1]), and of what projections `weights` [n_features][m]
 * make of the features of each dimension: memory goes with the square of m*width. NULL: of the
 * features themselves. On failure nothing is left to finish. */
bool al_target_moments_find(struct al_target_moments *out, const struct al_rows rows[2],
	const struct al_principal *principal, const struct al_view *weights,
	struct al_error *err) AL_MUST_CHECK;
void al_target_moments_finish(struct al_target_moments *moments);

/* errors[k], k from 0 to m: |Z - Z_k| / |Z| of the best fit, with an intercept, from the first k
 * projections of the moments, `width` columns each. Columns that are linear in those before them
 * add nothing. The moments are used up. */
bool al_regression_errors(struct al_target_moments *moments, size_t width, double *errors,
	struct al_error *err) AL_MUST_CHECK;

/* The weights of the best fit: `out` [columns][n_targets]. The moments are used up, but means. */
bool al_regression_fit(struct al_target_moments *moments, struct al_matrix out,
	struct al_error *err) AL_MUST_CHECK;
