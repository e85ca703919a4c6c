/* The regression that attention's output projection is (the paper's equation 8): a target Z of
 * d_model numbers a token, as linear as may be in what the PCA layer lets through. */
#ifndef ATTNLEDGER_PCA_REGRESSION_H
#define ATTNLEDGER_PCA_REGRESSION_H

#include "pca/principal.h"

/* All that a least-squares fit asks of the tokens: second moments, means taken off. A column is a
 * feature's number in one dimension, feature by feature: [n_features][width] of them. */
struct al_target_moments {
	size_t n_targets;
	int64_t n_tokens;
	int64_t n_left_out, first_left_out; /* tokens with numbers that aren't finite, in either */
	struct al_matrix features; /* [columns][columns], E u u^T */
	struct al_matrix cross; /* [columns][n_targets], E u z^T */
	double squares; /* E |z|^2 */
	struct al_matrix means; /* that were taken off: [columns][1] */
	double *target_mean; /* [n_targets] */
};

/* `outputs` has rows of heads with n_targets numbers behind them. On failure nothing is left to
 * finish. */
bool al_target_moments_find(struct al_target_moments *out, const struct al_head_outputs *outputs,
	const struct al_principal *principal, size_t n_targets, struct al_error *err) AL_MUST_CHECK;
void al_target_moments_finish(struct al_target_moments *moments);

/* (W (x) I)^T A, column by column: a column [n_features][width], seen as a matrix, is multiplied by
 * `weights` [n_features][m] and becomes [m][width]. */
bool al_pca_project(struct al_view a, size_t width, struct al_view weights, struct al_matrix out,
	struct al_error *err) AL_MUST_CHECK;

/* errors[m], m from 0 to n_features: |Z - Z_m| / |Z| of the best fit, with an intercept, from the
 * first m components. Columns that are linear in those before them add nothing. */
bool al_regression_errors(const struct al_target_moments *moments,
	const struct al_principal *principal, double *errors, struct al_error *err) AL_MUST_CHECK;

/* The weights of the best fit from given projections: y = W^T u in each dimension, `weights`
 * [n_features][m]; `out` [m*width][n_targets]. */
bool al_regression_fit(const struct al_target_moments *moments, const struct al_pca_layer *layer,
	struct al_view weights, struct al_matrix out, struct al_error *err) AL_MUST_CHECK;

#endif
