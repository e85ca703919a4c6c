/* Singular values and vectors.
 *
 * Squares of singular values are the eigenvalues of a Gram matrix, but for rounding at the size of
 * the largest: a root of it is good as long as it is far above the root of that. The small ones are
 * taken of A itself, restricted to the few directions that the Gram matrix leaves to them. */

#include "linalg/internal.h"

/* ---- by LAPACK's SVD ---- */

static bool gesdd(char job, struct al_matrix a, double *values, struct al_matrix u,
	struct al_matrix vt, struct al_error *err)
{
	const size_t n = al_least(a.rows, a.cols);

	if (!al_check_finite("singular values", al_view(a), err))
		return false;
	al_blas_hold();
	lapack_int info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, job, al_int(a.rows), al_int(a.cols),
		a.data, al_int(a.ld), values, u.data, al_int(u.ld), vt.data, al_int(vt.ld));
	al_blas_release();
	return al_check_info("dgesdd", info, err)
		&& al_check_values("singular values", values, n, err);
}

static bool by_svd(struct al_view a, double *values, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_matrix none = {.ld = 1};
	struct al_matrix copy;

	if (!al_take(&scratch, &copy, a.rows, a.cols, err))
		return false;
	return al_copy(a, copy, err) && gesdd('N', copy, values, none, none, err);
}

/* ---- from the Gram matrix ---- */

/* A Gram matrix and what al_reduce makes of it, followed by its eigenvalues, largest first. */
struct reduced {
	struct al_matrix g, columns;
};

enum column { DIAGONAL, OFF_DIAGONAL, REFLECTORS, ROOM, VALUES = AL_REDUCED_COLUMNS, N_COLUMNS };

static double *column(const struct reduced *x, enum column which)
{
	return x->columns.data + (size_t)which * x->columns.ld;
}

static bool reduce(const struct reduced *x, struct al_error *err)
{
	return al_reduce(x->g, x->columns, err)
		&& al_tridiagonal_values(column(x, DIAGONAL), column(x, OFF_DIAGONAL), x->g.cols, 0,
			column(x, VALUES), x->g.cols, err);
}

/* The eigenvectors of the smallest `vectors.cols` eigenvalues. */
static bool find_smallest(const struct reduced *x, struct al_matrix vectors, lapack_int *support,
	struct al_error *err)
{
	const lapack_int n = al_int(x->g.cols), wanted = al_int(vectors.cols);
	lapack_logical is_accurate = 1;
	lapack_int found;

	if (!al_check_info("dstemr",
		    LAPACKE_dstemr(LAPACK_COL_MAJOR, 'V', 'I', n, column(x, DIAGONAL),
			    column(x, OFF_DIAGONAL), 0, 0, 1, wanted, &found, column(x, ROOM),
			    vectors.data, al_int(vectors.ld), wanted, support, &is_accurate),
		    err))
		return false;
	if (found != wanted)
		return al_fail(err, AL_ESYSTEM, "dstemr: found %d of %d eigenvalues", (int)found,
			(int)wanted);
	return al_check_info("dormtr",
		LAPACKE_dormtr(LAPACK_COL_MAJOR, 'L', 'L', 'N', n, wanted, x->g.data,
			al_int(x->g.ld), column(x, REFLECTORS), vectors.data, al_int(vectors.ld)),
		err);
}

/* The singular values of A restricted to the smallest n directions. */
static bool restrict_to(const struct reduced *x, struct al_view a, size_t n, double *values,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const bool is_wide = a.rows < a.cols;
	struct al_matrix vectors, image;
	lapack_int *support = al_take_array(&scratch, 2 * n, sizeof(*support), err);

	if (!support || !al_take(&scratch, &vectors, x->g.cols, n, err)
		|| !al_take(&scratch, &image, is_wide ? a.cols : a.rows, n, err))
		return false;
	al_blas_hold();
	const bool done = find_smallest(x, vectors, support, err);
	al_blas_release();
	return done
		&& al_gemm(is_wide ? AL_TRANSPOSED : AL_PLAIN, AL_PLAIN, 1, a, al_view(vectors), 0,
			image, err)
		&& by_svd(al_view(image), values, err);
}

/* How many eigenvalues the Gram matrix's rounding, as that of the largest, could show in. */
static size_t count_small(const double *falling, size_t n)
{
	size_t small = 0;

	while (small < n && !(falling[n - 1 - small] * AL_GRAM_CONDITION > falling[0]))
		small++;
	return small;
}

/* If more than a quarter are small, an SVD of A is as fast. */
static bool from_reduced(const struct reduced *x, struct al_view a, double *values, bool *is_good,
	struct al_error *err)
{
	const size_t n = x->g.cols, small = count_small(column(x, VALUES), n);

	*is_good = small <= n / 4;
	if (!*is_good)
		return true;
	for (size_t i = 0; i < n - small; i++)
		values[i] = sqrt(column(x, VALUES)[i]);
	if (small > 0 && !restrict_to(x, a, small, values + n - small, err))
		return false;
	al_sort_falling(values, n);
	return true;
}

/* If squares overflow, the SVD shows whether A itself is finite. */
static bool by_gram(struct al_view a, const struct reduced *x, double *values, bool *is_good,
	struct al_error *err)
{
	*is_good = false;
	if (!al_gram(a.rows < a.cols ? AL_PLAIN : AL_TRANSPOSED, a, x->g, NULL)
		|| !al_is_well_scaled(al_view(x->g)))
		return true;
	al_blas_hold();
	const bool done = reduce(x, err);
	al_blas_release();
	return done && from_reduced(x, a, values, is_good, err);
}

bool al_singular_values(struct al_view a, double *values, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = al_least(a.rows, a.cols);
	struct reduced x = {{0}, {0}};
	bool is_good = false;

	if (!al_check("A", a, err))
		return false;
	if (n == 0)
		return true;
	if (!al_take(&scratch, &x.g, n, n, err) || !al_take(&scratch, &x.columns, n, N_COLUMNS, err)
		|| !by_gram(a, &x, values, &is_good, err))
		return false;
	al_scratch_finish(&scratch);
	return is_good ? al_check_values("singular values", values, n, err)
		       : by_svd(a, values, err);
}

/* ---- vectors ---- */

/* V from V^T, and the sign that U's columns decide. */
static void turn_both(struct al_matrix u, struct al_matrix vt, struct al_matrix v)
{
	for (size_t j = 0; j < v.cols; j++) {
		for (size_t i = 0; i < v.rows; i++)
			v.data[i + j * v.ld] = vt.data[j + i * vt.ld];
		if (al_points_down(u.data + j * u.ld, u.rows)) {
			al_negate(u.data + j * u.ld, u.rows);
			al_negate(v.data + j * v.ld, v.rows);
		}
	}
}

bool al_svd(struct al_matrix a, struct al_matrix u, double *values, struct al_matrix v,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = al_least(a.rows, a.cols);
	struct al_matrix vt;

	if (!al_check("A", al_view(a), err) || !al_check("U", al_view(u), err)
		|| !al_check("V", al_view(v), err)
		|| !al_check_shape("U", u.rows, u.cols, a.rows, n, err)
		|| !al_check_shape("V", v.rows, v.cols, a.cols, n, err))
		return false;
	if (n == 0)
		return true;
	if (!al_take(&scratch, &vt, n, a.cols, err) || !gesdd('S', a, values, u, vt, err))
		return false;
	turn_both(u, vt, v);
	return al_check_finite("singular vectors", al_view(u), err)
		&& al_check_finite("singular vectors", al_view(v), err);
}
