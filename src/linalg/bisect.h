/* Eigenvalues of a symmetric tridiagonal matrix by Sturm sequences and bisection. */
#ifndef ATTNLEDGER_LINALG_BISECT_H
#define ATTNLEDGER_LINALG_BISECT_H

#include "linalg/internal.h"

/* T's diagonal is [n], what is beside it [n - 1]. Of its eigenvalues, largest first, `wanted` from
 * number `first` on: values[wanted]. Each is off by a few roundings of the largest magnitude,
 * in single precision by fewer than LAPACK's sterf leaves. With AVX-512 all of some hundred are
 * found in 0.75 of sterf's time, in single precision in a quarter of it. */
bool al_bisect(const double *diagonal, const double *beside, size_t n, size_t first, double *values,
	size_t wanted, struct al_error *err) AL_MUST_CHECK;
bool al_bisect_f(const float *diagonal, const float *beside, size_t n, size_t first, float *values,
	size_t wanted, struct al_error *err) AL_MUST_CHECK;

#endif
