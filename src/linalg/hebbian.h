/* Hebbian learning of principal components: the rules of Hebb, Oja and Sanger.
 *
 * Weights W are [n][m], a component a column (the paper's W is this, its y = w^T x; its equation 12
 * writes the transpose, W [m][n]). With y = W^T x, one pattern asks for the change
 *
 *     Hebb    dw_c = y_c x                           grows without bound
 *     Oja     dw_c = y_c (x - y_c w_c)               each column for itself: the first component
 *     Sanger  dw_c = y_c (x - sum_{b<=c} y_b w_b)    the generalised Hebbian algorithm (GHA)
 *
 * and many patterns for its mean, in which x enters by C = E x x^T alone:
 *
 *     F = C W - W upper(W^T C W)      of Sanger's rule; upper: what lies below the diagonal is 0.
 *
 * Sanger 1989, Neural Networks 2, 459-473; Oja 1992, Neural Networks 5, 927-935. */
#ifndef ATTNLEDGER_LINALG_HEBBIAN_H
#define ATTNLEDGER_LINALG_HEBBIAN_H

#include "linalg/linalg.h"

enum al_hebbian { AL_HEBB, AL_OJA, AL_SANGER, AL_N_HEBBIAN };

/* F, the mean change that a rule asks for, [n][m]; `covariance` [n][n] is symmetric. */
bool al_hebbian_direction(enum al_hebbian rule, struct al_view covariance, struct al_view weights,
	struct al_matrix out, struct al_error *err) AL_MUST_CHECK;

/* `n_steps` steps W += rate F. AL_EINPUT where the weights grow without bound, naming the step
 * counted from `first_step`; of Hebb's rule, which can't but do so, only at 1e100. */
bool al_hebbian_batch(enum al_hebbian rule, struct al_view covariance, double rate,
	size_t first_step, size_t n_steps, struct al_matrix weights,
	struct al_error *err) AL_MUST_CHECK;

/* One pattern x [n]: W += rate y x^T ... by the rule, all columns from the weights before. `room`
 * [n]. */
void al_hebbian_pattern(enum al_hebbian rule, const double *x, double rate,
	struct al_matrix weights, double *room);

/* Frobenius norm above which weights of m components count as diverged: the rules lead to
 * sqrt(m). */
double al_hebbian_bound(size_t m);

/* Fails as al_hebbian_batch does where the weights have grown too far. */
bool al_hebbian_check(enum al_hebbian rule, struct al_view weights, double rate, size_t step,
	struct al_error *err) AL_MUST_CHECK;

/* Is the norm of the weights below it, and finite? */
bool al_hebbian_is_bounded(struct al_view weights);

/* How far weights [n][m] are from given orthonormal vectors [n][m]: |cosine| of each column with
 * its own, cosines [m]; and the largest principal angle between the two spaces, in radians. A
 * column of zeros has cosine 0; columns that are linearly dependent span an angle of pi/2. */
bool al_hebbian_alignment(struct al_view weights, struct al_view vectors, double *cosines,
	double *largest_angle, struct al_error *err) AL_MUST_CHECK;

#endif
