/* Spectra of sums of matrices that have nothing to do with each other: what many draws of them
 * would show in the mean, computed.
 *
 * Symmetric matrices of one large size in independent random bases are asymptotically free: the
 * spectrum of their sum is the free additive convolution of their spectra (Voiculescu 1991, doi
 * 10.1007/BF01245072). With Cauchy transforms G_i it follows from subordination functions w_i
 * (Biane 1998, doi 10.1007/PL00004620; Belinschi & Bercovici 2007, doi 10.1007/s11854-007-0006-1):
 *
 *     G(z) = G_i(w_i(z)) for all i,  sum_i w_i(z) - (H - 1)/G(z) = z
 *
 * How many eigenvalues there are above t, and what they add up to, are integrals of G along the
 * line that rises from t, where nothing is singular: isolated eigenvalues need no care of their
 * own. */
#pragma once

#include "linalg/linalg.h"

/* How matrices X_i of one `height`, each with singular values of its own in independent Haar bases,
 * are put together. */
enum al_free_kind {
	AL_FREE_BESIDE, /* [X_1 .. X_H] */
	AL_FREE_SUM, /* X_1 + .. + X_H, all of them height x height */
};

/* terms: the singular values of each, [values][H], at most `height` of them; none is negative.
 * out[n]: those of the whole, falling, n <= height. `*is_found` is false where the equations could
 * not be solved. The largest value's square must be a number. */
bool al_free_sum(enum al_free_kind kind, struct al_view terms, size_t height, double *out, size_t n,
	bool *is_found, struct al_error *err) AL_MUST_CHECK;
