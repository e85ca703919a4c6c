/* Counts the floating-point operations of a program's BLAS and LAPACK calls: linked into it, or
 * preloaded, and then written, when the program ends, to the file that COUNT_FLOPS names: those in
 * double precision, a space, those in single.
 *
 * Counts are the usual leading terms (Golub & Van Loan, Matrix Computations; a call of LAPACK isn't
 * counted again for what it calls inside). Condition numbers, norms and solutions with few
 * right-hand sides are of lower order and left out. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "count_flops.h"

#include <cblas.h>
#include <dlfcn.h>
#include <lapacke.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic long long in_double, in_single;

struct flops flops_counted(void)
{
	return (struct flops){(double)in_double, (double)in_single};
}

struct flops flops_between(struct flops before, struct flops after)
{
	return (struct flops){after.in_double - before.in_double,
		after.in_single - before.in_single};
}

static void *next(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f) {
		fprintf(stderr, "count-flops: %s is not there\n", name);
		abort();
	}
	return f;
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("COUNT_FLOPS");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (file) {
		fprintf(file, "%lld %lld\n", (long long)in_double, (long long)in_single);
		fclose(file);
	}
}

/* A function of the library that counts its operations and then does what it did. (A function's
 * address is copied, since ISO C doesn't convert it.) */
#define COUNTED(result, leave, name, parameters, arguments, sum, flops) \
	result name parameters \
	{ \
		result(*then) parameters; \
		void *address = next(#name); \
\
		memcpy(&then, &address, sizeof(then)); \
		sum += (long long)(flops); \
		leave then arguments; \
	}

#define GEMM(name, type, sum) \
	COUNTED(void, , name, \
		(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, \
			blasint m, blasint n, blasint k, type alpha, const type *a, blasint lda, \
			const type *b, blasint ldb, type beta, type *c, blasint ldc), \
		(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), sum, \
		2.0 * m * n * k)

#define SYRK(name, type, sum) \
	COUNTED(void, , name, \
		(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo, enum CBLAS_TRANSPOSE t, blasint n, \
			blasint k, type alpha, const type *a, blasint lda, type beta, type *c, \
			blasint ldc), \
		(order, uplo, t, n, k, alpha, a, lda, beta, c, ldc), sum, (n + 1.0) * n * k)

#define SYMM(name, type, sum) \
	COUNTED(void, , name, \
		(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO uplo, blasint m, \
			blasint n, type alpha, const type *a, blasint lda, const type *b, \
			blasint ldb, type beta, type *c, blasint ldc), \
		(order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc), sum, \
		2.0 * m * n * (side == CblasLeft ? m : n))

#define SYR2K(name, type, sum) \
	COUNTED(void, , name, \
		(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo, enum CBLAS_TRANSPOSE t, blasint n, \
			blasint k, type alpha, const type *a, blasint lda, const type *b, \
			blasint ldb, type beta, type *c, blasint ldc), \
		(order, uplo, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc), sum, \
		2.0 * (n + 1.0) * n * k)

#define TRIANGLE(name, type, sum) \
	COUNTED(void, , name, \
		(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO uplo, \
			enum CBLAS_TRANSPOSE t, enum CBLAS_DIAG diag, blasint m, blasint n, \
			type alpha, const type *a, blasint lda, type *b, blasint ldb), \
		(order, side, uplo, t, diag, m, n, alpha, a, lda, b, ldb), sum, \
		(double)m *n *(side == CblasLeft ? m : n))

GEMM(cblas_dgemm, double, in_double)
GEMM(cblas_sgemm, float, in_single)
SYRK(cblas_dsyrk, double, in_double)
SYRK(cblas_ssyrk, float, in_single)
SYMM(cblas_dsymm, double, in_double)
SYMM(cblas_ssymm, float, in_single)
SYR2K(cblas_dsyr2k, double, in_double)
SYR2K(cblas_ssyr2k, float, in_single)
TRIANGLE(cblas_dtrmm, double, in_double)
TRIANGLE(cblas_dtrsm, double, in_double)
TRIANGLE(cblas_strsm, float, in_single)

/* m x n with m >= n, whichever of the two sizes is which. */
static double long_side(double m, double n)
{
	return m > n ? m : n;
}

static double short_side(double m, double n)
{
	return m > n ? n : m;
}

static double qr(double m, double n)
{
	return 2 * short_side(m, n) * short_side(m, n) * (long_side(m, n) - short_side(m, n) / 3);
}

static double cubed(double n)
{
	return n * n * n;
}

/* Eigenvalues alone, or with the vectors. */
static double symmetric(char job, double n)
{
	return (job == 'N' ? 4.0 / 3 : 9.0) * cubed(n);
}

static double singular(char job, double m, double n)
{
	const double l = long_side(m, n), s = short_side(m, n);

	return job == 'N' ? 4 * l * s * s - 4 * cubed(s) / 3 : 6 * l * s * s + 20 * cubed(s);
}

COUNTED(lapack_int, return, LAPACKE_dgeqrf,
	(int order, lapack_int m, lapack_int n, double *a, lapack_int lda, double *tau),
	(order, m, n, a, lda, tau), in_double, qr(m, n))
COUNTED(lapack_int, return, LAPACKE_dorgqr,
	(int order, lapack_int m, lapack_int n, lapack_int k, double *a, lapack_int lda,
		const double *tau),
	(order, m, n, k, a, lda, tau), in_double,
	4.0 * m * n * k - 2.0 * (m + n) * k * k + 4 * cubed(k) / 3)
COUNTED(lapack_int, return, LAPACKE_dormtr,
	(int order, char side, char uplo, char t, lapack_int m, lapack_int n, const double *a,
		lapack_int lda, const double *tau, double *c, lapack_int ldc),
	(order, side, uplo, t, m, n, a, lda, tau, c, ldc), in_double,
	2.0 * m * n * (side == 'L' ? m : n))
COUNTED(lapack_int, return, LAPACKE_dpotrf,
	(int order, char uplo, lapack_int n, double *a, lapack_int lda), (order, uplo, n, a, lda),
	in_double, cubed(n) / 3)
COUNTED(lapack_int, return, LAPACKE_dgetrf,
	(int order, lapack_int m, lapack_int n, double *a, lapack_int lda, lapack_int *pivots),
	(order, m, n, a, lda, pivots), in_double, 2 * cubed(short_side(m, n)) / 3)
COUNTED(lapack_int, return, LAPACKE_dsytrd,
	(int order, char uplo, lapack_int n, double *a, lapack_int lda, double *d, double *e,
		double *tau),
	(order, uplo, n, a, lda, d, e, tau), in_double, symmetric('N', n))
COUNTED(lapack_int, return, LAPACKE_dstedc,
	(int order, char job, lapack_int n, double *d, double *e, double *z, lapack_int ldz),
	(order, job, n, d, e, z, ldz), in_double, 4 * cubed(n) / 3)
COUNTED(lapack_int, return, LAPACKE_ssytrd,
	(int order, char uplo, lapack_int n, float *a, lapack_int lda, float *d, float *e,
		float *tau),
	(order, uplo, n, a, lda, d, e, tau), in_single, symmetric('N', n))
COUNTED(lapack_int, return, LAPACKE_dsyevd,
	(int order, char job, char uplo, lapack_int n, double *a, lapack_int lda, double *w),
	(order, job, uplo, n, a, lda, w), in_double, symmetric(job, n))
COUNTED(lapack_int, return, LAPACKE_ssyevd,
	(int order, char job, char uplo, lapack_int n, float *a, lapack_int lda, float *w),
	(order, job, uplo, n, a, lda, w), in_single, symmetric(job, n))
COUNTED(lapack_int, return, LAPACKE_dsyevr,
	(int order, char job, char range, char uplo, lapack_int n, double *a, lapack_int lda,
		double vl, double vu, lapack_int il, lapack_int iu, double abstol, lapack_int *m,
		double *w, double *z, lapack_int ldz, lapack_int *support),
	(order, job, range, uplo, n, a, lda, vl, vu, il, iu, abstol, m, w, z, ldz, support),
	in_double, symmetric('N', n) + (job == 'N' ? 0 : 2.0 * n * n * (iu - il + 1)))
COUNTED(lapack_int, return, LAPACKE_dgesdd,
	(int order, char job, lapack_int m, lapack_int n, double *a, lapack_int lda, double *s,
		double *u, lapack_int ldu, double *vt, lapack_int ldvt),
	(order, job, m, n, a, lda, s, u, ldu, vt, ldvt), in_double, singular(job, m, n))
COUNTED(lapack_int, return, LAPACKE_dgeev,
	(int order, char left, char right, lapack_int n, double *a, lapack_int lda, double *wr,
		double *wi, double *vl, lapack_int ldvl, double *vr, lapack_int ldvr),
	(order, left, right, n, a, lda, wr, wi, vl, ldvl, vr, ldvr), in_double,
	(left == 'V' || right == 'V' ? 25 : 10) * cubed(n))
