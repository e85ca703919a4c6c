/* A random range finder for the modes of the head tensor (Halko, Martinsson & Tropp 2011,
 * arXiv:0909.4061, algorithm 4.4), for ranks far below d_model.
 *
 * The Gram matrix of a mode is M = own blockdiag(G_b) own^T with G_b the d_head x d_head Gram
 * matrices of what it meets, so that one power iteration is two products with the factor. They run
 * in single precision; the basis is orthonormal to double precision.
 *
 * Between the two products of an iteration the basis is turned to its Ritz vectors u_j with their
 * values t_j (Parlett 1998, The Symmetric Eigenvalue Problem, section 11.3). The first product then
 * gives M u_j / t_j = u_j + e_j, columns that are nearly orthonormal already, and e_j shows what
 * the iteration would gain before the second product is taken. */

#include "base/random.h"
#include "linalg/tensor.h"

enum { OVERSAMPLING = 32 };

/* Resolution of single precision: of the remaining part of ||T||^2, and of a value relative to the
 * largest. */
static const double LEFT_SHOWS = 1e-5, VALUE_SHOWS = 1e-7;

struct finder {
	struct al_view_f own, other;
	size_t n_own, n_other, d_head;
	size_t rank, width;
	double norm; /* ||T||^2 */
	double left; /* the part of it that the `rank` best directions leave behind */
	struct al_matrix_f grams; /* [d_head][n_own*d_head]: G_b side by side */
	struct al_matrix basis; /* [d][width], orthonormal */
	struct al_matrix_f narrow; /* the same, or what it becomes */
	struct al_matrix_f
		inner; /* own^T basis, [n_own*d_head][width]; then blockdiag(G_b) turned */
	struct al_matrix_f turned; /* blockdiag(G_b) inner; then own^T of the Ritz vectors */
	struct al_matrix_f small_f; /* basis^T M basis, then its eigenvectors */
	struct al_matrix small, values; /* the same; its eigenvalues */
	struct al_matrix leading; /* the first Ritz vectors, [d][rank] */
};

static bool finder_init(struct al_scratch *scratch, struct finder *f, struct al_error *err)
{
	return al_take_f(scratch, &f->grams, f->d_head, f->own.cols, err)
		&& al_take(scratch, &f->basis, f->own.rows, f->width, err)
		&& al_take_f(scratch, &f->narrow, f->own.rows, f->width, err)
		&& al_take_f(scratch, &f->inner, f->own.cols, f->width, err)
		&& al_take_f(scratch, &f->turned, f->own.cols, f->width, err)
		&& al_take_f(scratch, &f->small_f, f->width, f->width, err)
		&& al_take(scratch, &f->small, f->width, f->width, err)
		&& al_take(scratch, &f->values, f->width, 1, err);
}

/* G_b: the sum over all others that block b meets. */
static bool gram_block(void *context, size_t b, struct al_error *err)
{
	const struct finder *f = context;
	const size_t d = f->d_head, first = b * f->n_other / f->n_own;
	const size_t n = f->n_other > f->n_own ? f->n_other / f->n_own : 1;
	const struct al_matrix_f g = al_part_f(f->grams, 0, b * d, d, d);

	for (size_t i = first; i < first + n; i++) {
		const struct al_view_f other = al_columns_f(f->other, i * d, d);
		if (!(i == first ? al_gram_f(AL_TRANSPOSED, other, g, err)
				 : al_gemm_f(AL_TRANSPOSED, AL_PLAIN, 1, other, other, 1, g, err)))
			return false;
	}
	return true;
}

struct weigh {
	const struct finder *finder;
	struct al_matrix_f from, to;
};

static bool weigh_block(void *context, size_t b, struct al_error *err)
{
	const struct weigh *x = context;
	const size_t d = x->finder->d_head;

	return al_gemm_f(AL_PLAIN, AL_PLAIN, 1, al_columns_f(al_view_f(x->finder->grams), b * d, d),
		al_view_f(al_part_f(x->from, b * d, 0, d, x->from.cols)), 0,
		al_part_f(x->to, b * d, 0, d, x->to.cols), err);
}

/* to = blockdiag(G_b) from */
static bool weigh(const struct finder *f, struct al_matrix_f from, struct al_matrix_f to,
	struct al_error *err)
{
	struct weigh x = {f, from, to};

	return al_parallel(f->n_own, weigh_block, &x, err);
}

/* A basis of what `narrow` spans, and its own^T basis. */
static bool take_basis(struct finder *f, struct al_error *err)
{
	return al_widen(al_view_f(f->narrow), f->basis, err) && al_orthonormalize(f->basis, err)
		&& al_narrow(al_view(f->basis), f->narrow, err)
		&& al_gemm_f(AL_TRANSPOSED, AL_PLAIN, 1, f->own, al_view_f(f->narrow), 0, f->inner,
			err);
}

/* The Ritz values and vectors of the basis, and what the `rank` best leave. */
static bool measure(struct finder *f, struct al_error *err)
{
	if (!weigh(f, f->inner, f->turned, err)
		|| !al_gemm_f(AL_TRANSPOSED, AL_PLAIN, 1, al_view_f(f->inner), al_view_f(f->turned),
			0, f->small_f, err)
		|| !al_widen(al_view_f(f->small_f), f->small, err)
		|| !al_eigenvectors(f->small, f->values.data, err))
		return false;
	f->left = f->norm;
	for (size_t i = 0; i < f->rank; i++)
		f->left -= f->values.data[i];
	return true;
}

static bool turn(struct finder *f, struct al_error *err)
{
	return al_narrow(al_view(f->small), f->small_f, err)
		&& al_gemm_f(AL_PLAIN, AL_PLAIN, 1, al_view_f(f->inner), al_view_f(f->small_f), 0,
			f->turned, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(f->basis),
			al_columns(al_view(f->small), 0, f->rank), 0, f->leading, err);
}

/* t_j, or the smallest value that differs from zero. */
static double value(const struct finder *f, size_t j)
{
	return fmax(f->values.data[j], VALUE_SHOWS * f->values.data[0]);
}

/* narrow = M u_j / t_j. */
static bool apply(struct finder *f, struct al_error *err)
{
	if (!weigh(f, f->turned, f->inner, err))
		return false;
	for (size_t j = 0; j < f->width; j++)
		for (size_t i = 0; i < f->inner.rows; i++)
			f->inner.data[i + j * f->inner.ld] /= (float)value(f, j);
	return al_gemm_f(AL_PLAIN, AL_PLAIN, 1, f->own, al_view_f(f->inner), 0, f->narrow, err);
}

/* What another iteration would change of the error, relative to it: to first order it gains
 * t_j ||e_j||^2 + <e_j, M e_j> in every direction, where M beyond the basis is below t_j; and half
 * of that part of what is left is that part of the error. */
static double foresee_change(const struct finder *f)
{
	double gain = 0;

	for (size_t j = 0; j < f->rank; j++) {
		double distance = 0;
		for (size_t i = 0; i < f->narrow.rows; i++) {
			const double e = (double)f->narrow.data[i + j * f->narrow.ld]
				- f->leading.data[i + j * f->leading.ld];
			distance += e * e;
		}
		gain += value(f, j) * distance;
	}
	return gain / fmax(f->left, LEFT_SHOWS * f->norm);
}

static double error_shown(const struct finder *f)
{
	return sqrt(fmax(f->left / f->norm, LEFT_SHOWS));
}

/* Until an iteration changed little or the next one would. */
static bool settle(struct finder *f, double *change, struct al_error *err)
{
	double before = INFINITY;

	for (int i = 0; i <= AL_TUCKER_POWER_MOST; i++) {
		if (!take_basis(f, err) || !measure(f, err) || !turn(f, err))
			return false;
		*change = (before - error_shown(f)) / error_shown(f);
		before = error_shown(f);
		if (i > 0 && fabs(*change) <= AL_TUCKER_SETTLED)
			break;
		if (!apply(f, err))
			return false;
		*change = foresee_change(f);
		if (*change <= AL_TUCKER_SETTLED)
			break;
	}
	*change = fabs(*change);
	return true;
}

/* narrow = own blockdiag(G_b) times a Gaussian matrix. */
static bool draw(struct finder *f, uint64_t seed, uint64_t mode, struct al_error *err)
{
	struct al_random *random = al_random_create(seed, mode, 0, 0);

	al_random_gaussian_f(random, f->inner.data, f->inner.rows * f->inner.cols);
	al_random_destroy(random);
	return weigh(f, f->inner, f->turned, err)
		&& al_gemm_f(AL_PLAIN, AL_PLAIN, 1, f->own, al_view_f(f->turned), 0, f->narrow,
			err);
}

/* core = leading^T own, which `turned` holds in columns. */
static void take_core(const struct finder *f, struct al_matrix core)
{
	enum { BLOCK = 64 };

	for (size_t first = 0; first < core.cols; first += BLOCK)
		for (size_t i = 0; i < core.rows; i++)
			for (size_t j = first; j < core.cols && j < first + BLOCK; j++)
				core.data[i + j * core.ld] =
					(double)f->turned.data[j + i * f->turned.ld];
}

static bool find(struct finder *f, uint64_t seed, uint64_t mode, struct al_matrix *basis,
	struct al_matrix *core, double *change, struct al_error *err)
{
	AL_SCRATCH(scratch);

	if (!finder_init(&scratch, f, err) || !al_matrix_init(basis, f->own.rows, f->rank, err))
		return false;
	f->leading = *basis;
	if (!al_parallel(f->n_own, gram_block, f, err) || !draw(f, seed, mode, err)
		|| !settle(f, change, err) || !al_matrix_init(core, f->rank, f->own.cols, err))
		return false;
	take_core(f, *core);
	return true;
}

static struct finder finder_of(struct al_view_f own, size_t n_own, struct al_view_f other,
	size_t n_other, size_t rank, double norm)
{
	const size_t most = al_least(own.rows, own.cols);

	return (struct finder){.own = own,
		.other = other,
		.n_own = n_own,
		.n_other = n_other,
		.d_head = own.cols / n_own,
		.rank = rank,
		.width = most - rank < OVERSAMPLING ? most : rank + OVERSAMPLING,
		.norm = norm};
}

bool al_tucker_find_ranges(const struct al_heads *heads, double norm,
	const struct al_tucker_options *o, struct al_tucker *out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_heads h;
	double change;

	if (!al_heads_narrow(&scratch, heads, &h, err))
		return false;
	struct finder query = finder_of(h.query_f, h.n_heads, h.key_f, h.n_kv_heads, o->query_rank,
		norm);
	struct finder key = finder_of(h.key_f, h.n_kv_heads, h.query_f, h.n_heads, o->key_rank,
		norm);
	if (!find(&query, o->seed, 0, &out->query, &out->core_query, &out->finder_change, err)
		|| !find(&key, o->seed, 1, &out->key, &out->core_key, &change, err))
		return false;
	out->finder_change = fmax(out->finder_change, change);
	return true;
}
