/* Triangular factors: Cholesky, QR, and solving with them. */

#include "base/random.h"
#include "linalg/internal.h"

static bool check_square(const char *name, struct al_view g, struct al_error *err)
{
	return al_check(name, g, err) && al_check_shape(name, g.rows, g.cols, g.cols, g.cols, err);
}

static void zero_below(struct al_matrix r)
{
	for (size_t j = 0; j + 1 < r.rows && j < r.cols; j++)
		memset(r.data + j + 1 + j * r.ld, 0, (r.rows - j - 1) * sizeof(double));
}

/* ---- Cholesky ---- */

/* The upper triangle becomes R; what is below the diagonal stays. */
static bool factor(struct al_matrix g, bool *is_definite, double *condition, struct al_error *err)
{
	const lapack_int n = al_int(g.cols), ld = al_int(g.ld);
	const double norm = condition ? LAPACKE_dlansy(LAPACK_COL_MAJOR, '1', 'U', n, g.data, ld)
				      : 0;
	const lapack_int info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', n, g.data, ld);
	double reciprocal = 0;

	*is_definite = info == 0;
	if (info < 0 || !condition)
		return info > 0 || al_check_info("dpotrf", info, err);
	/* a definite matrix has a norm, unless there was no memory for it */
	if (*is_definite
		&& (!al_check_info("dlansy", norm > 0 ? 0 : LAPACK_WORK_MEMORY_ERROR, err)
			|| !al_check_info("dpocon",
				LAPACKE_dpocon(LAPACK_COL_MAJOR, 'U', n, g.data, ld, norm,
					&reciprocal),
				err)))
		return false;
	*condition = reciprocal > 0 ? 1 / reciprocal : INFINITY;
	return true;
}

bool al_cholesky(struct al_matrix g, bool *is_definite, double *condition, struct al_error *err)
{
	*is_definite = true;
	if (condition)
		*condition = 1;
	if (!check_square("G", al_view(g), err) || !al_check_finite("Cholesky", al_view(g), err))
		return false;
	if (g.cols == 0)
		return true;
	al_blas_hold();
	const bool done = factor(g, is_definite, condition, err);
	al_blas_release();
	zero_below(g);
	return done;
}

/* ---- QR ---- */

/* LAPACK leaves the signs of R's diagonal as they come; here none is negative. */
static void fix_signs(struct al_matrix a, struct al_matrix r, bool with_u)
{
	for (size_t i = 0; i < r.rows; i++) {
		if (!(r.data[i + i * r.ld] < 0))
			continue;
		for (size_t j = i; j < r.cols; j++)
			r.data[i + j * r.ld] = -r.data[i + j * r.ld];
		for (size_t k = 0; with_u && k < a.rows; k++)
			a.data[k + i * a.ld] = -a.data[k + i * a.ld];
	}
}

static bool decompose(struct al_matrix a, struct al_matrix r, double *tau, bool with_u,
	struct al_error *err)
{
	const lapack_int rows = al_int(a.rows), ld = al_int(a.ld), least_side = al_int(r.rows);

	if (!al_check_info("dgeqrf",
		    LAPACKE_dgeqrf(LAPACK_COL_MAJOR, rows, al_int(a.cols), a.data, ld, tau), err))
		return false;
	for (size_t j = 0; j < r.cols; j++)
		memcpy(r.data + j * r.ld, a.data + j * a.ld, r.rows * sizeof(double));
	zero_below(r);
	return !with_u
		|| al_check_info("dorgqr",
			LAPACKE_dorgqr(LAPACK_COL_MAJOR, rows, least_side, least_side, a.data, ld,
				tau),
			err);
}

static bool check_qr(struct al_matrix a, struct al_matrix r, struct al_error *err)
{
	return al_check("A", al_view(a), err) && al_check("R", al_view(r), err)
		&& al_check_shape("R", r.rows, r.cols, al_least(a.rows, a.cols), a.cols, err)
		&& al_check_finite("QR", al_view(a), err);
}

static bool qr(struct al_matrix a, struct al_matrix r, bool with_u, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix tau;

	if (al_is_empty(a.rows, a.cols))
		return true;
	if (!al_take(&scratch, &tau, r.rows, 1, err))
		return false;
	al_blas_hold();
	bool done = decompose(a, r, tau.data, with_u, err);
	al_blas_release();
	if (!done)
		return false;
	fix_signs(a, r, with_u);
	return al_check_finite("QR", al_view(r), err);
}

bool al_qr_r(struct al_matrix a, struct al_matrix r, struct al_error *err)
{
	return check_qr(a, r, err) && qr(a, r, false, err);
}

/* ---- the cheaper of the two ---- */

bool al_is_well_scaled(struct al_view gram)
{
	double trace = 0;

	for (size_t i = 0; i < gram.cols; i++)
		trace += gram.data[i + i * gram.ld];
	return trace > 0x1p-600 && trace < 0x1p600;
}

/* By its Gram matrix where that can be trusted. Where squares overflow, QR will show whether A
 * itself is finite. */
static bool by_cholesky(struct al_view a, struct al_matrix r, bool *is_good, struct al_error *err)
{
	double condition;

	*is_good = al_gram(AL_TRANSPOSED, a, r, NULL) && al_is_well_scaled(al_view(r));
	if (!*is_good)
		return true;
	if (!al_cholesky(r, is_good, &condition, err))
		return false;
	*is_good = condition <= AL_GRAM_CONDITION;
	return true;
}

static bool by_qr(struct al_view a, struct al_matrix r, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix copy;

	if (!al_take(&scratch, &copy, a.rows, a.cols, err))
		return false;
	return al_copy(a, copy, err) && al_qr_r(copy, r, err);
}

bool al_triangle(struct al_view a, struct al_matrix r, enum al_route *route, struct al_error *err)
{
	bool is_good = false;

	*route = AL_ROUTE_QR;
	if (!al_check("A", a, err) || !al_check("R", al_view(r), err)
		|| !al_check_shape("R", r.rows, r.cols, al_least(a.rows, a.cols), a.cols, err)
		|| (a.rows >= a.cols && !by_cholesky(a, r, &is_good, err)))
		return false;
	if (!is_good)
		return by_qr(a, r, err);
	*route = AL_ROUTE_CHOLESKY;
	return true;
}

/* ---- solving ---- */

static bool check_solve(enum al_side side, const size_t r[2], const size_t b[2],
	struct al_error *err)
{
	const size_t n = side == AL_LEFT ? b[0] : b[1];

	return al_check_shape("R", r[0], r[1], n, n, err);
}

static bool fail_singular(size_t i, struct al_error *err)
{
	return al_fail(err, AL_ESYSTEM, "triangular system: element %zu of the diagonal is zero",
		i);
}

/* Rows or columns that are solved in one call: packing the triangle again for each is little. */
enum { SOLVED_AT_ONCE = 512 };

#include "linalg/in_double.h"
#include "linalg/solve.inc"

#include "linalg/in_single.h"
#include "linalg/solve.inc"

/* ---- orthonormal columns ----
 *
 * A divided by the triangular factor of its Gram matrix is orthonormal to 2^-52 times the Gram
 * matrix's condition, divided again to rounding: CholeskyQR2, several times as fast as Householder
 * for tall matrices (Yamamoto, Nakatsukasa, Yanagisawa & Fukaya 2015, section 3). Columns that are
 * too ill-conditioned for that are divided by a shifted factor before: CholeskyQR3 (Fukaya, Kannan,
 * Nakatsukasa, Yamamoto & Yanagisawa 2020, section 3). */

/* Beyond the rounding of a Gram matrix and of its factor, as a part of its trace. */
static const double SHIFT = 0x1p-44;

/* One division is enough below this condition of the Gram matrix: for al_qr, and for
 * al_orthonormalize. A Gaussian matrix that is twice as tall as wide stays below the second. */
static const double ENOUGH = 2, ENOUGH_LOOSELY = 100;

enum { MOST_DIVISIONS = 4 };

struct division {
	struct al_matrix a;
	struct al_matrix gram, factor; /* of a, [a.cols][a.cols] */
	struct al_matrix r; /* takes the factors' product, or without data */
	double enough;
	bool is_shifted; /* a division was */
};

/* Columns that are nearly orthonormal, however ill-conditioned they were, but for what they hold
 * less of than the root of SHIFT. */
static bool factor_shifted(struct division *x, bool *is_good, struct al_error *err)
{
	double trace = 0;

	if (!al_copy(al_view(x->gram), x->factor, err))
		return false;
	for (size_t i = 0; i < x->gram.cols; i++)
		trace += x->gram.data[i + i * x->gram.ld];
	for (size_t i = 0; i < x->gram.cols; i++)
		x->factor.data[i + i * x->factor.ld] += SHIFT * trace;
	x->is_shifted = true;
	return al_cholesky(x->factor, is_good, NULL, err);
}

/* The triangular factor to divide by, where there is one; and the condition of the Gram matrix. */
static bool find_factor(struct division *x, double *condition, bool *is_good, struct al_error *err)
{
	*is_good = al_gram(AL_TRANSPOSED, al_view(x->a), x->gram, NULL)
		&& al_is_well_scaled(al_view(x->gram));
	if (!*is_good)
		return true;
	if (!al_copy(al_view(x->gram), x->factor, err)
		|| !al_cholesky(x->factor, is_good, condition, err))
		return false;
	if (*condition <= AL_GRAM_CONDITION)
		return true;
	*is_good = false;
	return x->is_shifted || factor_shifted(x, is_good, err);
}

/* r = factor r, both upper triangular. */
static bool take_factor(const struct division *x, struct al_error *err)
{
	if (!x->r.data)
		return true;
	al_blas_hold();
	cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit,
		al_int(x->r.rows), al_int(x->r.cols), 1, x->r.data, al_int(x->r.ld), x->factor.data,
		al_int(x->factor.ld));
	al_blas_release();
	return al_copy(al_view(x->factor), x->r, err);
}

static bool divide(struct division *x, struct al_error *err)
{
	double condition = INFINITY;
	bool is_good = true;

	for (int i = 0; i < MOST_DIVISIONS && condition > x->enough; i++) {
		if (!find_factor(x, &condition, &is_good, err))
			return false;
		if (!is_good)
			break;
		if (!al_solve(AL_RIGHT, AL_PLAIN, al_view(x->factor), x->a, err)
			|| !take_factor(x, err))
			return false;
	}
	return condition <= x->enough || (qr(x->a, x->factor, true, err) && take_factor(x, err));
}

static bool orthonormalize(struct al_matrix a, struct al_matrix r, double enough,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct division x = {.a = a, .r = r, .enough = enough};

	return al_take(&scratch, &x.gram, a.cols, a.cols, err)
		&& al_take(&scratch, &x.factor, a.cols, a.cols, err) && divide(&x, err);
}

bool al_qr(struct al_matrix a, struct al_matrix r, struct al_error *err)
{
	if (!check_qr(a, r, err))
		return false;
	if (a.rows < 2 * a.cols || a.cols == 0)
		return qr(a, r, true, err);
	for (size_t j = 0; j < r.cols; j++)
		for (size_t i = 0; i < r.rows; i++)
			r.data[i + j * r.ld] = i == j;
	return orthonormalize(a, r, ENOUGH, err);
}

static bool check_tall(struct al_matrix u, struct al_error *err)
{
	return al_check("U", al_view(u), err)
		&& (u.rows >= u.cols
			|| al_fail(err, AL_EINPUT, "U: %zu orthonormal columns of %zu rows", u.cols,
				u.rows));
}

bool al_orthonormalize(struct al_matrix u, struct al_error *err)
{
	const struct al_matrix none = {.ld = 1};

	return check_tall(u, err) && al_check_finite("QR", al_view(u), err)
		&& (u.cols == 0 || orthonormalize(u, none, ENOUGH_LOOSELY, err));
}

/* ---- Haar ---- */

bool al_haar(struct al_random *random, struct al_matrix u, struct al_error *err)
{
	if (!check_tall(u, err))
		return false;
	for (size_t j = 0; j < u.cols; j++)
		al_random_gaussian(random, u.data + j * u.ld, u.rows);
	/* The Q of a Gaussian matrix is Haar where R's diagonal is positive: it always is here. */
	return al_orthonormalize(u, err);
}
