/* A symmetric matrix made tridiagonal for its eigenvalues alone, G = H T H^T without H. */
#ifndef ATTNLEDGER_LINALG_BAND_H
#define ATTNLEDGER_LINALG_BAND_H

#include "linalg/internal.h"

/* T's diagonal is [n], what is beside it [n - 1]. Reads and destroys the lower triangle; what is
 * above the diagonal stays. The caller holds BLAS (al_blas_hold). */
bool al_tridiagonal_by_band(struct al_matrix g, double *diagonal, double *beside,
	struct al_error *err) AL_MUST_CHECK;
bool al_tridiagonal_by_band_f(struct al_matrix_f g, float *diagonal, float *beside,
	struct al_error *err) AL_MUST_CHECK;

/* The same by whichever way is shorter; spare[n]. It holds BLAS itself. */
bool al_tridiagonal_values(struct al_matrix g, double *diagonal, double *beside, double *spare,
	struct al_error *err) AL_MUST_CHECK;
bool al_tridiagonal_values_f(struct al_matrix_f g, float *diagonal, float *beside, float *spare,
	struct al_error *err) AL_MUST_CHECK;

#endif
