/* Eigenvalues and eigenvectors of symmetric matrices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/internal.h"

/* Where eigenvectors are asked for, LAPACK counts its workspace, 1 + 6n + 2n^2, in 32 bits. */
enum { EIGENVECTORS_MOST = 32000 };

/* A few eigenvectors of a large matrix are found one by one, many or those of a small one all
 * together. */
enum { TOGETHER = 1024, MANY = 4 };

bool al_check_values(const char *what, const double *values, size_t n, struct al_error *err)
{
	return al_check_finite(what, (struct al_view){values, n, 1, n ? n : 1}, err);
}

/* Above this a matrix whose eigenvalues are all that is asked for is made a band first, by
 * products, and the band tridiagonal: at 4,096 in 0.65 of the time, at 768 in 1.2. */
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
	return (x->place > y->place) - (x->place < y->place);
}

void al_sort_order(const double *values, size_t n, size_t *order)
{
	struct placed *all = al_calloc(n + 1, sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = (struct placed){values[i], i};
	qsort(all, n, sizeof(*all), compare_placed);
	for (size_t i = 0; i < n; i++)
		order[i] = all[i].place;
	free(all);
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

/* From the lower triangle: its eigenvectors turn back by dormqr, the upper one's by dormql, which
 * took twice as long. */
static bool syevd(struct al_matrix g, double *values, struct al_error *err)
{
	al_blas_hold();
	const lapack_int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', al_int(g.cols), g.data,
		al_int(g.ld), values);
	al_blas_release();
	if (!al_check_info("dsyevd", info, err)
		|| !al_check_values("eigenvalues", values, g.cols, err))
		return false;
	reverse(values, g.cols);
	return true;
}

static void turn_up(struct al_matrix vectors)
{
	for (size_t j = 0; j < vectors.cols; j++)
		if (al_points_down(vectors.data + j * vectors.ld, vectors.rows))
			al_negate(vectors.data + j * vectors.ld, vectors.rows);
}

static void largest_first(struct al_matrix vectors)
{
	for (size_t j = 0; j < vectors.cols / 2; j++)
		swap_columns(vectors, j, vectors.cols - 1 - j);
	turn_up(vectors);
}

bool al_eigenvectors(struct al_matrix g, double *values, struct al_error *err)
{
	if (!check_vectors(g, err))
		return false;
	if (g.cols == 0)
		return true;
	if (!syevd(g, values, err))
		return false;
	largest_first(g);
	return al_check_finite("eigenvectors", al_view(g), err);
}

/* What dsyevd does, but that only the eigenvectors in `top`, the last columns of `all`, are turned
 * back from the tridiagonal matrix's. room[n][3]: its diagonal, what is beside it, the reflectors'
 * factors. */
static bool find_all(struct al_matrix g, struct al_matrix room, struct al_matrix all,
	struct al_matrix top, struct al_error *err)
{
	const lapack_int n = al_int(g.cols), ld = al_int(g.ld);
	double *diagonal = room.data, *beside = diagonal + room.ld, *factors = beside + room.ld;

	return al_check_info("dsytrd",
		       LAPACKE_dsytrd(LAPACK_COL_MAJOR, 'L', n, g.data, ld, diagonal, beside,
			       factors),
		       err)
		&& al_check_info("dstedc",
			LAPACKE_dstedc(LAPACK_COL_MAJOR, 'I', n, diagonal, beside, all.data,
				al_int(all.ld)),
			err)
		&& al_check_info("dormtr",
			LAPACKE_dormtr(LAPACK_COL_MAJOR, 'L', 'L', 'N', n, al_int(top.cols), g.data,
				ld, factors, top.data, al_int(top.ld)),
			err);
}

static bool top_of_all(struct al_matrix g, double *values, struct al_matrix vectors,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = g.cols, wanted = vectors.cols;
	struct al_matrix room, all;

	if (!al_take(&scratch, &room, n, 3, err) || !al_take(&scratch, &all, n, n, err))
		return false;
	const struct al_matrix top = al_part(all, 0, n - wanted, n, wanted);
	al_blas_hold();
	const bool done = find_all(g, room, all, top, err);
	al_blas_release();
	if (!done || !al_copy(al_view(top), vectors, err))
		return false;
	for (size_t i = 0; i < wanted; i++)
		values[i] = room.data[n - 1 - i];
	largest_first(vectors);
	return al_check_values("eigenvalues", values, wanted, err);
}

static bool syevr(struct al_matrix g, double *values, struct al_matrix vectors, lapack_int *support,
	struct al_error *err)
{
	const lapack_int n = al_int(g.cols), wanted = al_int(vectors.cols);
	lapack_int found;

	al_blas_hold();
	lapack_int info = LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'L', n, g.data, al_int(g.ld),
		0, 0, n - wanted + 1, n, 0, &found, values, vectors.data, al_int(vectors.ld),
		support);
	al_blas_release();
	if (!al_check_info("dsyevr", info, err))
		return false;
	if (found != wanted)
		return al_fail(err, AL_ESYSTEM, "dsyevr: found %d of %d eigenvalues", (int)found,
			(int)wanted);
	return true;
}

/* Of room for the eigenvalues dsyevr uses all n; its supports are two integers a vector. */
static bool top_one_by_one(struct al_matrix g, double *values, struct al_matrix vectors,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix all;
	lapack_int *support = al_take_array(&scratch, 2 * vectors.cols, sizeof(*support), err);

	if (!support || !al_take(&scratch, &all, g.cols, 1, err)
		|| !syevr(g, all.data, vectors, support, err))
		return false;
	memcpy(values, all.data, vectors.cols * sizeof(double));
	reverse(values, vectors.cols);
	largest_first(vectors);
	return al_check_values("eigenvalues", values, vectors.cols, err)
		&& al_check_finite("eigenvectors", al_view(vectors), err);
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
	if (vectors.cols == 0)
		return true;
	if (g.cols <= TOGETHER || vectors.cols * MANY >= g.cols)
		return top_of_all(g, values, vectors, err);
	return top_one_by_one(g, values, vectors, err);
}
