/* Hebbian learning of principal components by Sanger's rule, the generalized Hebbian algorithm.
 *
 * Weights W are [n][m], a component a column (the paper's W is this, its y = w^T x; its equation 12
 * writes the transpose, W [m][n]). With y = W^T x, one pattern asks for the change
 *
 *     dw_c = y_c (x - sum_{b<=c} y_b w_b)
 *
 * and many patterns for its mean, in which x enters by C = E x x^T alone:
 *
 *     F = C W - W upper(W^T C W)      upper: what lies below the diagonal is 0.
 *
 * Sanger 1989, Neural Networks 2, 459-473. */
#pragma once

#include "linalg/linalg.h"

/* F, the mean change that is asked for, [n][m]; `covariance` [n][n] is symmetric. */
bool al_hebbian_direction(struct al_view covariance, struct al_view weights, struct al_matrix out,
	struct al_error *err) AL_MUST_CHECK;

/* `n_steps` steps W += rate F. AL_EINPUT where the weights grow without bound, naming the step
 * counted from `first_step`. */
bool al_hebbian_batch(struct al_view covariance, double rate, size_t first_step, size_t n_steps,
	struct al_matrix weights, struct al_error *err) AL_MUST_CHECK;

/* How far weights [n][m] are from given orthonormal vectors [n][m]: |cosine| of each column with
 * its own, cosines [m]; and the largest principal angle between the two spaces, in radians. A
 * column of zeros has cosine 0; columns that are linearly dependent span an angle of pi/2. */
bool al_hebbian_alignment(struct al_view weights, struct al_view vectors, double *cosines,
	double *largest_angle, struct al_error *err) AL_MUST_CHECK;
