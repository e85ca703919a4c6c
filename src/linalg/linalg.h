/* Linear algebra: a thin, checked layer over CBLAS and LAPACKE (OpenBLAS).
 *
 * Matrices are column-major: element (i, j) is data[i + j*ld], ld >= rows. A view only looks, a
 * matrix is written; a matrix that al_matrix_init made owns its memory. A D x (n_heads*d_head)
 * projection stored row-major as [n_heads*d_head][D] (torch's [out, in]) is a view as it lies.
 *
 * What every function does:
 * - It checks dimensions and leading dimensions first (OpenBLAS prints and goes on): AL_EINPUT.
 * - What comes out is finite, or the function fails: AL_ESYSTEM. No answer is ever NaN.
 * - BLAS runs on one thread (set on entry, restored on exit). Products larger than a panel are cut
 *   into panels whose width never depends on the number of threads, and spread over OpenMP's
 *   threads: the same bits for any number of them.
 * - An empty matrix (no rows or no columns) is allowed; outputs don't overlap inputs. */
#pragma once

#include "base/base.h"

struct al_random;

struct al_view {
	const double *data;
	size_t rows, cols, ld;
};

struct al_matrix {
	double *data;
	size_t rows, cols, ld;
};

struct al_view_f {
	const float *data;
	size_t rows, cols, ld;
};

struct al_matrix_f {
	float *data;
	size_t rows, cols, ld;
};

/* Largest first. */
void al_sort_falling(double *values, size_t n);

/* order[n]: which of the values is the largest, the next ...; of equals the first. */
void al_sort_order(const double *values, size_t n, size_t *order);

/* ---- memory ---- */

/* Zeroed memory with ld = rows. A size that the system can't give is an error, not an abort. */
bool al_matrix_init(struct al_matrix *m, size_t rows, size_t cols,
	struct al_error *err) AL_MUST_CHECK;
bool al_matrix_init_f(struct al_matrix_f *m, size_t rows, size_t cols,
	struct al_error *err) AL_MUST_CHECK;
/* Safe on a zeroed struct and twice. Never on a part of another matrix. */
void al_matrix_finish(struct al_matrix *m);
void al_matrix_finish_f(struct al_matrix_f *m);

/* Before a declaration of matrices, which are zeroed there: they are finished where its block ends,
 * whichever way that is left. One that is handed on is zeroed by hand. */
#define AL_OWNED __attribute__((cleanup(al_matrix_finish)))
#define AL_OWNED_F __attribute__((cleanup(al_matrix_finish_f)))

/* Memory that is freed at once, last taken first: a function that needs matrices for a while has
 *
 *     AL_SCRATCH(scratch);
 *     struct al_matrix g, r;
 *
 *     if (!al_take(&scratch, &g, n, n, err) || !al_take(&scratch, &r, n, n, err))
 *             return false;
 *
 * and they are freed where the block ends that contains AL_SCRATCH, whichever way that is left;
 * in the body of a loop, at the end of each turn. A struct whose matrices live as long as it does
 * has a scratch as a member. Zeroed is empty. Several threads may take from one at a time. */
struct al_scratch {
	struct al_scratch_block *newest;
};

#define AL_SCRATCH(name) __attribute__((cleanup(al_scratch_finish))) struct al_scratch name = {NULL}

/* Frees all that was taken. Safe on an empty one and twice. */
void al_scratch_finish(struct al_scratch *scratch);

/* What al_matrix_init makes, but that the scratch owns it: never to be finished on its own. On
 * failure the matrix is zeroed. */
bool al_take(struct al_scratch *scratch, struct al_matrix *m, size_t rows, size_t cols,
	struct al_error *err) AL_MUST_CHECK;
bool al_take_f(struct al_scratch *scratch, struct al_matrix_f *m, size_t rows, size_t cols,
	struct al_error *err) AL_MUST_CHECK;

/* Zeroed memory for anything else; NULL, and *err, where the system can't give so much. */
void *al_take_array(struct al_scratch *scratch, size_t count, size_t size,
	struct al_error *err) AL_MUST_CHECK;

static inline struct al_view al_view(struct al_matrix m)
{
	return (struct al_view){m.data, m.rows, m.cols, m.ld};
}

static inline struct al_view_f al_view_f(struct al_matrix_f m)
{
	return (struct al_view_f){m.data, m.rows, m.cols, m.ld};
}

/* `n` columns from `first` on; the caller sees to it that they exist. Head i of a projection is
 * al_columns(W, i*d_head, d_head). */
static inline struct al_view al_columns(struct al_view a, size_t first, size_t n)
{
	return (struct al_view){a.data ? a.data + first * a.ld : NULL, a.rows, n, a.ld};
}

static inline struct al_view_f al_columns_f(struct al_view_f a, size_t first, size_t n)
{
	return (struct al_view_f){a.data ? a.data + first * a.ld : NULL, a.rows, n, a.ld};
}

static inline struct al_matrix al_part(struct al_matrix m, size_t row, size_t col, size_t rows,
	size_t cols)
{
	double *first = rows && cols ? m.data + row + col * m.ld : m.data;

	return (struct al_matrix){first, rows, cols, m.ld};
}

static inline struct al_matrix_f al_part_f(struct al_matrix_f m, size_t row, size_t col,
	size_t rows, size_t cols)
{
	float *first = rows && cols ? m.data + row + col * m.ld : m.data;

	return (struct al_matrix_f){first, rows, cols, m.ld};
}

/* Same shape, element by element; the second narrows to float (out of range is an error), the third
 * widens. */
bool al_copy(struct al_view from, struct al_matrix to, struct al_error *err) AL_MUST_CHECK;
bool al_narrow(struct al_view from, struct al_matrix_f to, struct al_error *err) AL_MUST_CHECK;
bool al_widen(struct al_view_f from, struct al_matrix to, struct al_error *err) AL_MUST_CHECK;

/* A copy in a new matrix: the scratch's; with al_duplicate the caller's, on failure too. */
bool al_take_copy(struct al_scratch *scratch, struct al_view from, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;
bool al_duplicate(struct al_view from, struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

bool al_is_finite(struct al_view a);
bool al_is_finite_f(struct al_view_f a);

/* ---- threads ---- */

/* How many threads this thread's calls may use from now on; 0 for as many as there are cores. */
void al_threads_set(int n_threads);

/* Runs work(context, 0 .. n-1), side by side where that helps; the error is that of the lowest
 * index that failed. Inside, BLAS runs on the one thread, and al_parallel itself on those that have
 * nothing left to do. */
bool al_parallel(size_t n, bool (*work)(void *context, size_t index, struct al_error *err),
	void *context, struct al_error *err) AL_MUST_CHECK;

/* ---- products ---- */

enum al_op {
	AL_PLAIN,
	AL_TRANSPOSED,
};

/* C = alpha op(A) op(B) + beta C. With beta 0, C need not be initialized. */
bool al_gemm(enum al_op op_a, enum al_op op_b, double alpha, struct al_view a, struct al_view b,
	double beta, struct al_matrix c, struct al_error *err) AL_MUST_CHECK;
bool al_gemm_f(enum al_op op_a, enum al_op op_b, float alpha, struct al_view_f a,
	struct al_view_f b, float beta, struct al_matrix_f c, struct al_error *err) AL_MUST_CHECK;

/* op(A) op(B) in a new matrix, likewise. */
bool al_take_product(struct al_scratch *scratch, enum al_op op_a, struct al_view a, enum al_op op_b,
	struct al_view b, struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;
bool al_product(enum al_op op_a, struct al_view a, enum al_op op_b, struct al_view b,
	struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* The sum of the products of elements; A and B have one shape. */
double al_inner(struct al_view a, struct al_view b);

/* G = A^T A, [cols][cols] (AL_TRANSPOSED), or A A^T, [rows][rows] (AL_PLAIN): both triangles. */
bool al_gram(enum al_op op, struct al_view a, struct al_matrix g,
	struct al_error *err) AL_MUST_CHECK;
bool al_gram_f(enum al_op op, struct al_view_f a, struct al_matrix_f g,
	struct al_error *err) AL_MUST_CHECK;
bool al_take_gram(struct al_scratch *scratch, enum al_op op, struct al_view a, struct al_matrix *g,
	struct al_error *err) AL_MUST_CHECK;

/* ---- factors ---- */

/* How a triangular factor was found. */
enum al_route {
	AL_ROUTE_CHOLESKY, /* of the Gram matrix */
	AL_ROUTE_QR, /* Householder: the Gram matrix is too ill-conditioned */
};

/* Above this estimated condition of the Gram matrix (1-norm) al_triangle takes QR: below it
 * singular values are good to 2^-52 * sqrt(1e9), about 1e-11, of the largest one. */
#define AL_GRAM_CONDITION 1e9

/* G = R^T R in place: R upper triangular, the rest zeroed. Where G isn't positive definite it holds
 * nothing of use. `*condition` estimates G's condition in the 1-norm, INFINITY where it isn't
 * definite; NULL saves the work. */
bool al_cholesky(struct al_matrix g, bool *is_definite, double *condition,
	struct al_error *err) AL_MUST_CHECK;

/* The upper triangular (trapezoidal) factor R, [min(rows, cols)][cols], of A = U R, with a diagonal
 * that is not negative. The first destroys A; the second makes A the thin U, [rows][min]: its first
 * min(rows, cols) columns. */
bool al_qr_r(struct al_matrix a, struct al_matrix r, struct al_error *err) AL_MUST_CHECK;
bool al_qr(struct al_matrix a, struct al_matrix r, struct al_error *err) AL_MUST_CHECK;

/* U, not wider than tall, becomes what al_qr makes it, with columns orthonormal to 1e-13 at half of
 * the cost. */
bool al_orthonormalize(struct al_matrix u, struct al_error *err) AL_MUST_CHECK;

/* R as above by the cheapest route that can be trusted. A is left as it is. */
bool al_triangle(struct al_view a, struct al_matrix r, enum al_route *route,
	struct al_error *err) AL_MUST_CHECK;

enum al_side {
	AL_LEFT,
	AL_RIGHT,
};

/* B = op(R)^-1 B (left) or B op(R)^-1 (right), R upper triangular; a zero on the diagonal is an
 * error. */
bool al_solve(enum al_side side, enum al_op op, struct al_view r, struct al_matrix b,
	struct al_error *err) AL_MUST_CHECK;
bool al_solve_f(enum al_side side, enum al_op op, struct al_view_f r, struct al_matrix_f b,
	struct al_error *err) AL_MUST_CHECK;

/* ---- spectra ---- */

/* Largest first. G symmetric (the lower triangle is read), destroyed. */
bool al_eigenvalues(struct al_matrix g, double *values, struct al_error *err) AL_MUST_CHECK;
bool al_eigenvalues_f(struct al_matrix_f g, float *values, struct al_error *err) AL_MUST_CHECK;

/* The sum of all eigenvalues of a symmetric matrix that has none below 0 but the `n_largest`, good
 * to 1e-14 of its trace, in single precision to 1e-6. Reads the lower triangle and destroys it. */
bool al_sum_beyond(struct al_matrix g, size_t n_largest, double *sum,
	struct al_error *err) AL_MUST_CHECK;
bool al_sum_beyond_f(struct al_matrix_f g, size_t n_largest, double *sum,
	struct al_error *err) AL_MUST_CHECK;

/* Largest first; G becomes the eigenvectors, column by column. In every column the component that
 * is largest in magnitude (the first such) is positive. */
bool al_eigenvectors(struct al_matrix g, double *values, struct al_error *err) AL_MUST_CHECK;

/* Only the `vectors.cols` largest, values [vectors.cols]. G is destroyed. */
bool al_eigenvectors_top(struct al_matrix g, double *values, struct al_matrix vectors,
	struct al_error *err) AL_MUST_CHECK;

/* Singular values, [min(rows, cols)], largest first, good to 1e-11 of the largest: from the smaller
 * Gram matrix, those that its rounding hides from A in the directions that are left, and by SVD
 * where these are many. A is left as it is. */
bool al_singular_values(struct al_view a, double *values, struct al_error *err) AL_MUST_CHECK;

/* A = U diag(values) V^T, thin: U [rows][min], V [cols][min] (not transposed). A is destroyed. The
 * sign is fixed as above on U's columns. */
bool al_svd(struct al_matrix a, struct al_matrix u, double *values, struct al_matrix v,
	struct al_error *err) AL_MUST_CHECK;

/* ---- random matrices ---- */

/* A point on the Stiefel manifold, Haar-distributed: orthonormal columns, rows >= cols. */
bool al_haar(struct al_random *random, struct al_matrix u, struct al_error *err) AL_MUST_CHECK;
