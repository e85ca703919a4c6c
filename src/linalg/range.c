/* A random range finder for the modes of the head tensor (Halko, Martinsson & Tropp 2011,
 * arXiv:0909.4061, algorithm 4.4), for ranks far below d_model.
 *
 * The Gram matrix of a mode is own blockdiag(G_b) own^T with G_b the d_head x d_head Gram matrices
 * of what it meets, so that one power iteration is two products with the factor. They run in single
 * precision; the basis is orthonormal to double precision. */
#include <math.h>

#include "base/random.h"
#include "linalg/tensor.h"

enum { OVERSAMPLING = 32 };

/* What single precision can tell of the part of ||T||^2 that is left behind. */
static const double LEFT_SHOWS = 1e-5;

struct finder {
	struct al_view_f own, other;
	size_t n_own, n_other, d_head;
	size_t rank, width;
	double norm; /* ||T||^2 */
	struct al_matrix_f grams; /* [d_head][n_own*d_head]: G_b side by side */
	struct al_matrix basis; /* [d][width], orthonormal */
	struct al_matrix_f narrow; /* the same */
	struct al_matrix_f inner; /* own^T basis, [n_own*d_head][width] */
	struct al_matrix_f weighted; /* blockdiag(G_b) times it */
	struct al_matrix_f small_f; /* inner^T weighted: the mode's Gram matrix in the basis */
	struct al_matrix small, values;
};

static void finder_finish(struct finder *f)
{
	al_matrix_finish(&f->values);
	al_matrix_finish(&f->small);
	al_matrix_finish_f(&f->small_f);
	al_matrix_finish_f(&f->weighted);
	al_matrix_finish_f(&f->inner);
	al_matrix_finish_f(&f->narrow);
	al_matrix_finish(&f->basis);
	al_matrix_finish_f(&f->grams);
}

static bool finder_init(struct finder *f, struct al_error *err)
{
	return al_matrix_init_f(&f->grams, f->d_head, f->own.cols, err)
		&& al_matrix_init(&f->basis, f->own.rows, f->width, err)
		&& al_matrix_init_f(&f->narrow, f->own.rows, f->width, err)
		&& al_matrix_init_f(&f->inner, f->own.cols, f->width, err)
		&& al_matrix_init_f(&f->weighted, f->own.cols, f->width, err)
		&& al_matrix_init_f(&f->small_f, f->width, f->width, err)
		&& al_matrix_init(&f->small, f->width, f->width, err)
		&& al_matrix_init(&f->values, f->width, 1, err);
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
		if (!al_gemm_f(AL_TRANSPOSED, AL_PLAIN, 1, other, other, i > first, g, err))
			return false;
	}
	return true;
}

static bool weigh_block(void *context, size_t b, struct al_error *err)
{
	const struct finder *f = context;
	const size_t d = f->d_head;

	return al_gemm_f(AL_PLAIN, AL_PLAIN, 1, al_columns_f(al_view_f(f->grams), b * d, d),
		al_view_f(al_part_f(f->inner, b * d, 0, d, f->width)), 0,
		al_part_f(f->weighted, b * d, 0, d, f->width), err);
}

static bool iterate(struct finder *f, struct al_error *err)
{
	return al_gemm_f(AL_PLAIN, AL_PLAIN, 1, f->own, al_view_f(f->weighted), 0, f->narrow, err)
		&& al_widen(al_view_f(f->narrow), f->basis, err) && al_qr(f->basis, f->small, err)
		&& al_narrow(al_view(f->basis), f->narrow, err)
		&& al_gemm_f(AL_TRANSPOSED, AL_PLAIN, 1, f->own, al_view_f(f->narrow), 0, f->inner,
			err)
		&& al_parallel(f->n_own, weigh_block, f, err);
}

/* The error that the `rank` best directions within the basis leave: they stay in `small`. */
static bool measure(struct finder *f, double *error, struct al_error *err)
{
	double left = f->norm;

	if (!al_gemm_f(AL_TRANSPOSED, AL_PLAIN, 1, al_view_f(f->inner), al_view_f(f->weighted), 0,
		    f->small_f, err)
		|| !al_widen(al_view_f(f->small_f), f->small, err)
		|| !al_eigenvectors(f->small, f->values.data, err))
		return false;
	for (size_t i = 0; i < f->rank; i++)
		left -= f->values.data[i];
	*error = sqrt(fmax(left / f->norm, LEFT_SHOWS));
	return true;
}

static bool settle(struct finder *f, double *change, struct al_error *err)
{
	double before, error = INFINITY;

	*change = INFINITY;
	for (int i = 0; i <= AL_TUCKER_POWER_MOST && *change > AL_TUCKER_SETTLED; i++) {
		before = error;
		if (!iterate(f, err) || !measure(f, &error, err))
			return false;
		if (i > 0)
			*change = fabs(before - error) / error;
	}
	return true;
}

static void draw(struct finder *f, uint64_t seed, uint64_t mode)
{
	struct al_random *random = al_random_create(seed, mode, 0, 0);

	al_random_gaussian_f(random, f->inner.data, f->inner.rows * f->inner.cols);
	al_random_destroy(random);
}

/* core = basis^T own, by way of single precision. */
static bool project(struct finder *f, struct al_matrix basis, struct al_matrix core,
	struct al_error *err)
{
	struct al_matrix_f narrow = {0}, core_f = {0};

	bool done = al_matrix_init_f(&narrow, basis.rows, basis.cols, err)
		&& al_matrix_init_f(&core_f, core.rows, core.cols, err)
		&& al_narrow(al_view(basis), narrow, err)
		&& al_gemm_f(AL_TRANSPOSED, AL_PLAIN, 1, al_view_f(narrow), f->own, 0, core_f, err)
		&& al_widen(al_view_f(core_f), core, err);
	al_matrix_finish_f(&core_f);
	al_matrix_finish_f(&narrow);
	return done;
}

static bool find(struct finder *f, uint64_t seed, uint64_t mode, struct al_matrix *basis,
	struct al_matrix *core, double *change, struct al_error *err)
{
	if (!finder_init(f, err) || !al_parallel(f->n_own, gram_block, f, err))
		return false;
	draw(f, seed, mode);
	return al_parallel(f->n_own, weigh_block, f, err) && settle(f, change, err)
		&& al_matrix_init(basis, f->own.rows, f->rank, err)
		&& al_matrix_init(core, f->rank, f->own.cols, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(f->basis),
			al_columns(al_view(f->small), 0, f->rank), 0, *basis, err)
		&& project(f, *basis, *core, err);
}

static size_t width(size_t rank, size_t rows, size_t cols)
{
	const size_t most = rows < cols ? rows : cols;

	return most - rank < OVERSAMPLING ? most : rank + OVERSAMPLING;
}

static bool find_both(const struct al_heads *h, double norm, const struct al_tucker_options *o,
	struct al_tucker *out, struct al_error *err)
{
	const size_t d = al_heads_shape(h).d_head;
	struct finder query = {.own = h->query_f,
		.other = h->key_f,
		.n_own = h->n_heads,
		.n_other = h->n_kv_heads,
		.d_head = d,
		.rank = o->query_rank,
		.norm = norm,
		.width = width(o->query_rank, h->query_f.rows, h->query_f.cols)};
	struct finder key = {.own = h->key_f,
		.other = h->query_f,
		.n_own = h->n_kv_heads,
		.n_other = h->n_heads,
		.d_head = d,
		.rank = o->key_rank,
		.norm = norm,
		.width = width(o->key_rank, h->key_f.rows, h->key_f.cols)};
	double change;

	bool done = find(&query, o->seed, 0, &out->query, &out->core_query, &out->finder_change,
		err);
	finder_finish(&query);
	done = done && find(&key, o->seed, 1, &out->key, &out->core_key, &change, err);
	finder_finish(&key);
	if (done)
		out->finder_change = fmax(out->finder_change, change);
	return done;
}

bool al_tucker_find_ranges(const struct al_heads *heads, double norm,
	const struct al_tucker_options *options, struct al_tucker *out, struct al_error *err)
{
	struct al_narrow_heads narrow;

	bool done = al_narrow_heads_init(&narrow, heads, err)
		&& find_both(&narrow.heads, norm, options, out, err);
	al_narrow_heads_finish(&narrow);
	return done;
}
