/* The greedy start: the largest singular triples of all heads, each a term that one head alone
 * uses. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "linalg/internal.h"
#include "linalg/start.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t al_head_values(const struct al_heads *heads)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	return least(s.d_head, least(s.d_query, s.d_key));
}

/* ---- one head ---- */

/* T_i = query key^T = U core V^T, U and V the two sides' bases. */
struct head {
	struct al_matrix query, key; /* [d_query][d_head], [d_key][d_head] */
	struct al_matrix query_triangle, key_triangle;
	struct al_matrix core;
};

static bool head_init(struct head *h, const struct al_heads *heads, size_t i, struct al_error *err)
{
	const struct al_heads_shape s = al_heads_shape(heads);
	const size_t d = s.d_head, rows = least(s.d_query, d), cols = least(s.d_key, d);

	*h = (struct head){{0}, {0}, {0}, {0}, {0}};
	return al_matrix_init_unset(&h->query, s.d_query, d, err)
		&& al_matrix_init_unset(&h->key, s.d_key, d, err)
		&& al_matrix_init(&h->query_triangle, rows, d, err)
		&& al_matrix_init(&h->key_triangle, cols, d, err)
		&& al_matrix_init_unset(&h->core, rows, cols, err)
		&& al_head_copy(heads, AL_QUERY, i, h->query, err)
		&& al_head_copy(heads, AL_KEY, al_kv_head(heads, i), h->key, err);
}

static void head_finish(struct head *h)
{
	al_matrix_finish(&h->core);
	al_matrix_finish(&h->key_triangle);
	al_matrix_finish(&h->query_triangle);
	al_matrix_finish(&h->key);
	al_matrix_finish(&h->query);
}

static bool form_core(struct head *h, struct al_error *err)
{
	return al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(h->query_triangle),
		al_view(h->key_triangle), 0, h->core, err);
}

/* ---- all singular values ---- */

struct values {
	const struct al_heads *heads;
	double *values;
};

static bool find_values(void *context, size_t i, struct al_error *err)
{
	const struct values *x = context;
	const struct al_view none = {.ld = 1};
	enum al_route route;
	struct head h;

	bool done = head_init(&h, x->heads, i, err)
		&& al_triangle(al_view(h.query), none, h.query_triangle, &route, err)
		&& al_triangle(al_view(h.key), none, h.key_triangle, &route, err)
		&& form_core(&h, err)
		&& al_singular_values(al_view(h.core), x->values + i * al_head_values(x->heads),
			err);
	head_finish(&h);
	return done;
}

bool al_heads_values(const struct al_heads *heads, double *values, struct al_error *err)
{
	struct values x = {heads, values};

	return al_parallel(heads->n_heads, find_values, &x, err);
}

/* ---- the largest of them ---- */

struct triple {
	double value;
	size_t head, index;
};

/* Largest first; equal ones in the order of heads, so that the choice is one. */
static int compare(const void *a, const void *b)
{
	const struct triple *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* How many triples each head keeps of the `rank` largest; they are its first. */
static void choose(const double *values, size_t n_heads, size_t n_values, size_t rank,
	size_t *n_kept)
{
	const size_t n = n_heads * n_values;
	struct triple *triples = al_alloc(n, sizeof(*triples));

	for (size_t i = 0; i < n; i++)
		triples[i] = (struct triple){values[i], i / n_values, i % n_values};
	qsort(triples, n, sizeof(*triples), compare);
	for (size_t i = 0; i < rank && i < n; i++)
		n_kept[triples[i].head]++;
	free(triples);
}

/* ---- their vectors ---- */

struct fill {
	const struct al_heads *heads;
	struct al_terms *terms;
	const size_t *n_kept;
};

struct svd {
	struct al_matrix u, v, values;
};

static void svd_finish(struct svd *s)
{
	al_matrix_finish(&s->values);
	al_matrix_finish(&s->v);
	al_matrix_finish(&s->u);
}

static bool svd_init(struct svd *s, struct al_matrix core, struct al_error *err)
{
	const size_t n = least(core.rows, core.cols);

	*s = (struct svd){{0}, {0}, {0}};
	return al_matrix_init(&s->u, core.rows, n, err) && al_matrix_init(&s->v, core.cols, n, err)
		&& al_matrix_init(&s->values, n, 1, err);
}

/* Both sides carry the root of the singular value. */
static void share_values(struct svd *s)
{
	for (size_t j = 0; j < s->values.rows; j++) {
		const double root = sqrt(s->values.data[j]);
		for (size_t i = 0; i < s->u.rows; i++)
			s->u.data[i + j * s->u.ld] *= root;
		for (size_t i = 0; i < s->v.rows; i++)
			s->v.data[i + j * s->v.ld] *= root;
	}
}

/* A side and its triangle R: the side becomes a basis where R can't be trusted to divide by. */
static bool factor_side(struct al_matrix side, struct al_matrix triangle, bool *is_basis,
	struct al_error *err)
{
	const struct al_view none = {.ld = 1};
	enum al_route route;

	if (!al_triangle(al_view(side), none, triangle, &route, err))
		return false;
	*is_basis = route != AL_ROUTE_CHOLESKY;
	return !*is_basis || al_qr(side, triangle, err);
}

/* out = basis vectors, for the basis that the side is or that it has, side R^-1. */
static bool write_side(struct al_matrix side, struct al_matrix triangle, bool is_basis,
	struct al_matrix vectors, struct al_matrix out, struct al_error *err)
{
	return (is_basis || al_solve(AL_LEFT, AL_PLAIN, al_view(triangle), vectors, err))
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_columns(al_view(side), 0, triangle.rows),
			al_view(vectors), 0, out, err);
}

static bool write_terms(struct head *h, struct svd *s, size_t first, size_t n,
	struct al_terms *terms, struct al_error *err)
{
	bool query_is_basis, key_is_basis;

	if (!factor_side(h->query, h->query_triangle, &query_is_basis, err)
		|| !factor_side(h->key, h->key_triangle, &key_is_basis, err) || !form_core(h, err)
		|| !svd_init(s, h->core, err) || !al_svd(h->core, s->u, s->values.data, s->v, err))
		return false;
	share_values(s);
	return write_side(h->query, h->query_triangle, query_is_basis,
		       al_part(s->u, 0, 0, s->u.rows, n),
		       al_part(terms->query, 0, first, terms->query.rows, n), err)
		&& write_side(h->key, h->key_triangle, key_is_basis,
			al_part(s->v, 0, 0, s->v.rows, n),
			al_part(terms->key, 0, first, terms->key.rows, n), err);
}

static bool fill_head(void *context, size_t i, struct al_error *err)
{
	const struct fill *x = context;
	struct svd svd = {{0}, {0}, {0}};
	size_t first = 0;
	struct head h;

	if (x->n_kept[i] == 0)
		return true;
	for (size_t j = 0; j < i; j++)
		first += x->n_kept[j];
	for (size_t r = 0; r < x->n_kept[i]; r++)
		x->terms->mixing.data[i + (first + r) * x->terms->mixing.ld] = 1;
	bool done = head_init(&h, x->heads, i, err)
		&& write_terms(&h, &svd, first, x->n_kept[i], x->terms, err);
	svd_finish(&svd);
	head_finish(&h);
	return done;
}

bool al_start_greedy(const struct al_heads *heads, struct al_terms *terms, struct al_error *err)
{
	const size_t n = heads->n_heads, n_values = al_head_values(heads);
	size_t *n_kept = al_calloc(n, sizeof(*n_kept));
	struct fill fill = {heads, terms, n_kept};
	struct al_matrix values = {0};

	bool done = al_matrix_init(&values, n_values, n, err)
		&& al_heads_values(heads, values.data, err);
	if (done)
		choose(values.data, n, n_values, terms->query.cols, n_kept);
	done = done && al_parallel(n, fill_head, &fill, err);
	al_matrix_finish(&values);
	free(n_kept);
	return done;
}
