/* Eigenvalues and eigenvectors of symmetric matrices. */
#include <math.h>
#include <string.h>

#include "linalg/band.h"
#include "linalg/bisect.h"
#include "linalg/internal.h"
#include "linalg/tridiagonal.h"

/* Where eigenvectors are asked for, LAPACK counts its workspace, 1 + 6n + 2n^2, in 32 bits. */
enum { EIGENVECTORS_MOST = 32000 };

/* A few eigenvectors of a large matrix are found one by one, many or those of a small one all
 * together. */
enum { TOGETHER = 1024, MANY = 4 };

static bool check_symmetric(struct al_view g, size_t most, struct al_error *err)
{
	if (!al_check("G", g, err) || !al_check_shape("G", g.rows, g.cols, g.cols, g.cols, err))
		return false;
	if (g.cols > most)
		return al_fail(err, AL_EINPUT, "eigenvectors of %zu x %zu: at most %zu", g.rows,
			g.cols, most);
	return al_check_finite("eigenvalues", g, err);
}

bool al_check_values(const char *what, const double *values, size_t n, struct al_error *err)
{
	return al_check_finite(what, (struct al_view){values, n, 1, n ? n : 1}, err);
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

static void reverse(double *values, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		double other = values[n - 1 - i];
		values[n - 1 - i] = values[i];
		values[i] = other;
	}
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
	if (!check_symmetric(al_view(g), EIGENVECTORS_MOST, err))
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

	return al_tridiagonal(g, diagonal, beside, factors, err)
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
	const size_t n = g.cols, wanted = vectors.cols;
	struct al_matrix room = {0}, all = {0};

	bool done = al_matrix_init(&room, n, 3, err) && al_matrix_init_unset(&all, n, n, err);
	if (done) {
		const struct al_matrix top = al_part(all, 0, n - wanted, n, wanted);
		al_blas_hold();
		done = find_all(g, room, all, top, err);
		al_blas_release();
		done = done && al_copy(al_view(top), vectors, err);
	}
	for (size_t i = 0; done && i < wanted; i++)
		values[i] = room.data[n - 1 - i];
	if (done)
		largest_first(vectors);
	al_matrix_finish(&all);
	al_matrix_finish(&room);
	return done && al_check_values("eigenvalues", values, wanted, err);
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

/* Room for the eigenvalues, of which dsyevr uses all n, and for its supports, two integers a
 * vector. */
static bool top_one_by_one(struct al_matrix g, double *values, struct al_matrix vectors,
	struct al_error *err)
{
	struct al_matrix all = {0}, support = {0};

	bool done = al_matrix_init(&all, g.cols, 1, err)
		&& al_matrix_init(&support, vectors.cols, 2, err)
		&& syevr(g, all.data, vectors, (lapack_int *)(void *)support.data, err);
	if (done) {
		memcpy(values, all.data, vectors.cols * sizeof(double));
		reverse(values, vectors.cols);
		largest_first(vectors);
	}
	al_matrix_finish(&support);
	al_matrix_finish(&all);
	return done && al_check_values("eigenvalues", values, vectors.cols, err)
		&& al_check_finite("eigenvectors", al_view(vectors), err);
}

bool al_eigenvectors_top(struct al_matrix g, double *values, struct al_matrix vectors,
	struct al_error *err)
{
	if (!check_symmetric(al_view(g), EIGENVECTORS_MOST, err)
		|| !al_check("vectors", al_view(vectors), err))
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
