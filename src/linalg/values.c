/* Eigenvalues and eigenvectors of symmetric matrices. */

#include "linalg/internal.h"

/* Where eigenvectors are asked for, LAPACK counts its workspace, 1 + 6n + 2n^2, in 32 bits. */
enum { EIGENVECTORS_MOST = 32000 };

bool al_check_values(const char *what, const double *values, size_t n, struct al_error *err)
{
	return al_check_finite(what, (struct al_view){values, n, 1, n ? n : 1}, err);
}

/* Above this a matrix whose eigenvalues are all that is asked for is made a band first, by
 * products, and the band tridiagonal: at 4,096 in 0.65 of the time, at 768 in 1.3. */
enum { TWO_STAGES = 1024 };

static int compare_falling(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

void al_sort_falling(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_falling);
}

struct placed {
	double value;
	size_t place;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return al_compare(x->place, y->place);
}

void al_sort_order(const double *values, size_t n, size_t *order)
{
	AL_FREED struct placed *all = al_calloc(n + 1, sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = (struct placed){values[i], i};
	qsort(all, n, sizeof(*all), compare_placed);
	for (size_t i = 0; i < n; i++)
		order[i] = all[i].place;
}

static void swap_columns(struct al_matrix m, size_t a, size_t b)
{
	for (size_t i = 0; i < m.rows; i++) {
		double other = m.data[i + b * m.ld];
		m.data[i + b * m.ld] = m.data[i + a * m.ld];
		m.data[i + a * m.ld] = other;
	}
}

void al_negate(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = -x[i];
}

bool al_points_down(const double *x, size_t n)
{
	size_t largest = 0;

	for (size_t i = 1; i < n; i++)
		if (fabs(x[i]) > fabs(x[largest]) * (1 + 0x1p-30))
			largest = i;
	return n && x[largest] < 0;
}

/* ---- symmetric ---- */

/* Bytes of numbers that are found at once; rows after which minors are scaled. */
enum { BYTES_AT_ONCE = 256, BETWEEN_SCALINGS = 4 };

/* Binary digits of a number, and half a unit of 1's last one; a factor that makes up for what rows
 * between two scalings may take off. */
enum { DIGITS = 53, DIGITS_f = 24 };
static const double UNIT = 0x1p-53, LARGE = 0x1p900;
static const float UNIT_f = 0x1p-24f, LARGE_f = 0x1p100f;

#include "linalg/in_double.h"
#include "linalg/values.inc"

#include "linalg/in_single.h"
#include "linalg/values.inc"

static bool check_vectors(struct al_matrix g, struct al_error *err)
{
	if (g.cols > EIGENVECTORS_MOST)
		return al_fail(err, AL_EINPUT, "eigenvectors of %zu x %zu: at most %d", g.rows,
			g.cols, EIGENVECTORS_MOST);
	return check_symmetric(g, err);
}

static void largest_first(struct al_matrix vectors)
{
	for (size_t j = 0; j < vectors.cols / 2; j++)
		swap_columns(vectors, j, vectors.cols - 1 - j);
	for (size_t j = 0; j < vectors.cols; j++)
		if (al_points_down(vectors.data + j * vectors.ld, vectors.rows))
			al_negate(vectors.data + j * vectors.ld, vectors.rows);
}

/* What dsyevd does, but that only the eigenvectors in `top`, the last columns of `all`, are turned
 * back from the tridiagonal matrix's. From the lower triangle: dormtr then calls dormqr, the upper
 * one's dormql took twice as long. */
static bool find_all(struct al_matrix g, struct al_matrix reduced, struct al_matrix all,
	struct al_matrix top, struct al_error *err)
{
	const lapack_int n = al_int(g.cols);
	double *diagonal = reduced.data, *subdiagonal = diagonal + reduced.ld;

	return al_reduce(g, reduced, err)
		&& al_check_info("dstedc",
			LAPACKE_dstedc(LAPACK_COL_MAJOR, 'I', n, diagonal, subdiagonal, all.data,
				al_int(all.ld)),
			err)
		&& al_check_info("dormtr",
			LAPACKE_dormtr(LAPACK_COL_MAJOR, 'L', 'L', 'N', n, al_int(top.cols), g.data,
				al_int(g.ld), subdiagonal + reduced.ld, top.data, al_int(top.ld)),
			err);
}

/* The eigenvectors of the largest eigenvalues, `out` may be g itself. */
static bool find_top(struct al_matrix g, double *values, struct al_matrix out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = g.cols, wanted = out.cols;
	struct al_matrix reduced, all;

	if (wanted == 0)
		return true;
	if (!al_take(&scratch, &reduced, n, AL_REDUCED_COLUMNS, err)
		|| !al_take(&scratch, &all, n, n, err))
		return false;
	const struct al_matrix top = al_part(all, 0, n - wanted, n, wanted);
	al_blas_hold();
	const bool done = find_all(g, reduced, all, top, err);
	al_blas_release();
	if (!done || !al_copy(al_view(top), out, err))
		return false;
	for (size_t i = 0; i < wanted; i++)
		values[i] = reduced.data[n - 1 - i];
	largest_first(out);
	return al_check_values("eigenvalues", values, wanted, err);
}

bool al_eigenvectors(struct al_matrix g, double *values, struct al_error *err)
{
	return check_vectors(g, err) && find_top(g, values, g, err);
}

bool al_eigenvectors_top(struct al_matrix g, double *values, struct al_matrix vectors,
	struct al_error *err)
{
	if (!check_vectors(g, err) || !al_check("vectors", al_view(vectors), err))
		return false;
	if (vectors.rows != g.rows || vectors.cols > g.cols)
		return al_fail(err, AL_EINPUT,
			"vectors are %zu x %zu, expected %zu rows and at most %zu columns",
			vectors.rows, vectors.cols, g.rows, g.cols);
	return find_top(g, values, vectors, err);
}
