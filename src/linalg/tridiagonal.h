/* A symmetric matrix made tridiagonal, G = H T H^T. */
#ifndef ATTNLEDGER_LINALG_TRIDIAGONAL_H
#define ATTNLEDGER_LINALG_TRIDIAGONAL_H

#include "linalg/internal.h"

/* Reads and destroys the lower triangle: H's reflectors are there afterwards, as ormtr takes them;
 * their factors are [n - 1]. T's diagonal is [n], what is beside it [n - 1]. The caller holds BLAS
 * (al_blas_hold). */
bool al_tridiagonal(struct al_matrix g, double *diagonal, double *beside, double *factors,
	struct al_error *err) AL_MUST_CHECK;
bool al_tridiagonal_f(struct al_matrix_f g, float *diagonal, float *beside, float *factors,
	struct al_error *err) AL_MUST_CHECK;

#endif
