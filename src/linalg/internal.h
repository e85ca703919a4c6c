/* Shared by the files of this folder: checks before a library call, and a library's return
 * value. */
#pragma once

#include <cblas.h>
#include <lapacke.h>

#include "base/base.h"
#include "base/wide.h"
#include "linalg/linalg.h"

/* The library's integer is wide enough for the dimensions, ld >= max(1, rows), data where there are
 * elements, and the elements fit into memory. `name` is the matrix in messages: "A". */
bool al_check(const char *name, struct al_view a, struct al_error *err) AL_MUST_CHECK;
bool al_check_f(const char *name, struct al_view_f a, struct al_error *err) AL_MUST_CHECK;
bool al_check_shape(const char *name, size_t rows, size_t cols, size_t expected_rows,
	size_t expected_cols, struct al_error *err) AL_MUST_CHECK;

/* Fails where an element isn't finite. `what` is the operation: "product". */
bool al_check_finite(const char *what, struct al_view a, struct al_error *err) AL_MUST_CHECK;
bool al_check_finite_f(const char *what, struct al_view_f a, struct al_error *err) AL_MUST_CHECK;

bool al_check_values(const char *what, const double *values, size_t n,
	struct al_error *err) AL_MUST_CHECK;

/* values[wanted]: the eigenvalues of a symmetric tridiagonal matrix, largest first, from number
 * `first` on, good to a few units in the last place of the largest. diagonal[n],
 * subdiagonal[n-1]. */
bool al_tridiagonal_values(const double *diagonal, const double *subdiagonal, size_t n,
	size_t first, double *values, size_t wanted, struct al_error *err) AL_MUST_CHECK;
bool al_tridiagonal_values_f(const float *diagonal, const float *subdiagonal, size_t n,
	size_t first, float *values, size_t wanted, struct al_error *err) AL_MUST_CHECK;

/* Columns that sytrd takes at once: with LAPACK's own 32 it takes 1.07 of the time. */
enum { AL_SYTRD_COLUMNS = 16, AL_REDUCED_COLUMNS = 3 + AL_SYTRD_COLUMNS };

/* G = H T H^T, T tridiagonal, by LAPACK's sytrd: H's reflectors come into g's lower triangle; T's
 * diagonal, its subdiagonal and the reflectors' factors into the first three columns of
 * reduced[n][AL_REDUCED_COLUMNS]; the others are workspace. */
bool al_reduce(struct al_matrix g, struct al_matrix reduced, struct al_error *err) AL_MUST_CHECK;
bool al_reduce_f(struct al_matrix_f g, struct al_matrix_f reduced,
	struct al_error *err) AL_MUST_CHECK;

/* LAPACK's verdict: 0 is success. */
bool al_check_info(const char *routine, lapack_int info, struct al_error *err) AL_MUST_CHECK;

/* The squares in a Gram matrix neither overflow nor vanish. */
bool al_is_well_scaled(struct al_view gram);

/* Is the first of the largest components negative? Rounding must not decide between two that are
 * equal, so a component counts as larger only where it is so by more than rounding. */
bool al_points_down(const double *x, size_t n);
void al_negate(double *x, size_t n);

/* Between these two OpenBLAS runs on the calling thread alone. They nest, on any thread. */
void al_blas_hold(void);
void al_blas_release(void);

bool al_is_empty(size_t rows, size_t cols);

/* The next loop's iterations may be computed side by side. A sanitizer's checks prevent it,
 * of which clang would warn. */
#define AL_PRAGMA(text) _Pragma(#text)
#ifdef AL_IS_SANITIZED
#define AL_SIMD(...)
#else
#define AL_SIMD(...) AL_PRAGMA(omp simd __VA_ARGS__)
#endif

/* Checked dimensions in the library's integer. */
lapack_int al_int(size_t n);

CBLAS_TRANSPOSE al_cblas_op(enum al_op op);
