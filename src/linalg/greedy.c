/* The greedy start: the largest singular triples of all heads, each a term that one head alone
 * uses. */

#include "linalg/start.h"

size_t al_head_values(const struct al_heads *heads)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	return al_least(s.d_head, al_least(s.d_query, s.d_key));
}

/* ---- one head ---- */

/* T_i = query key^T = U core V^T, U and V the two sides' bases. */
struct head {
	struct al_matrix query, key; /* [d_query][d_head], [d_key][d_head] */
	struct al_matrix query_triangle, key_triangle;
	struct al_matrix core;
};

/* The triangles may outlive the rest. */
static bool head_init(struct al_scratch *scratch, struct al_scratch *triangles, struct head *h,
	const struct al_heads *heads, size_t i, struct al_error *err)
{
	const struct al_heads_shape s = al_heads_shape(heads);
	const size_t d = s.d_head, rows = al_least(s.d_query, d), cols = al_least(s.d_key, d);

	return al_take(scratch, &h->query, s.d_query, d, err)
		&& al_take(scratch, &h->key, s.d_key, d, err)
		&& al_take(triangles, &h->query_triangle, rows, d, err)
		&& al_take(triangles, &h->key_triangle, cols, d, err)
		&& al_take(scratch, &h->core, rows, cols, err)
		&& al_head_copy(heads, AL_QUERY, i, h->query, err)
		&& al_head_copy(heads, AL_KEY, al_kv_head(heads, i), h->key, err);
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
	AL_SCRATCH(scratch);
	const struct values *x = context;
	enum al_route route;
	struct head h;

	return head_init(&scratch, &scratch, &h, x->heads, i, err)
		&& al_triangle(al_view(h.query), h.query_triangle, &route, err)
		&& al_triangle(al_view(h.key), h.key_triangle, &route, err) && form_core(&h, err)
		&& al_singular_values(al_view(h.core), x->values + i * al_head_values(x->heads),
			err);
}

bool al_heads_values(const struct al_heads *heads, double *values, struct al_error *err)
{
	struct values x = {heads, values};

	return al_parallel(heads->n_heads, find_values, &x, err);
}

/* ---- the largest of them ---- */

/* How many triples each head keeps of the `rank` largest, of equal ones in the order of heads; they
 * are its first. */
static void choose(const double *values, size_t n_heads, size_t n_values, size_t rank,
	size_t *n_kept)
{
	const size_t n = n_heads * n_values;
	AL_FREED size_t *order = al_alloc(n, sizeof(*order));

	al_sort_order(values, n, order);
	for (size_t i = 0; i < rank && i < n; i++)
		n_kept[order[i] / n_values]++;
}

/* ---- all singular triples ---- */

/* What is kept of a head's T = U core V^T once its sides are let go: their triangles, which may not
 * be trusted to divide by, and the core's singular vectors. */
struct factors {
	struct al_matrix query_triangle, key_triangle;
	bool query_is_basis, key_is_basis;
	struct al_matrix u, v;
};

struct greedy {
	const struct al_heads *heads;
	struct al_cp_terms *terms;
	struct factors *factors; /* [n_heads] */
	struct al_scratch scratch; /* theirs */
	struct al_matrix values; /* [n_head_values][n_heads] */
	size_t *n_kept; /* [n_heads] */
};

/* A side and its triangle R: the side becomes a basis where R can't be trusted to divide by. */
static bool factor_side(struct al_matrix side, struct al_matrix triangle, bool *is_basis,
	struct al_error *err)
{
	enum al_route route;

	if (!al_triangle(al_view(side), triangle, &route, err))
		return false;
	*is_basis = route != AL_ROUTE_CHOLESKY;
	return !*is_basis || al_qr(side, triangle, err);
}

static bool factor_core(struct al_scratch *scratch, struct factors *f, struct al_matrix core,
	double *values, struct al_error *err)
{
	const size_t n = al_least(core.rows, core.cols);

	return al_take(scratch, &f->u, core.rows, n, err)
		&& al_take(scratch, &f->v, core.cols, n, err)
		&& al_svd(core, f->u, values, f->v, err);
}

static bool factor_head(void *context, size_t i, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct greedy *x = context;
	struct factors *f = &x->factors[i];
	struct head h;

	if (!head_init(&scratch, &x->scratch, &h, x->heads, i, err))
		return false;
	f->query_triangle = h.query_triangle;
	f->key_triangle = h.key_triangle;
	return factor_side(h.query, h.query_triangle, &f->query_is_basis, err)
		&& factor_side(h.key, h.key_triangle, &f->key_is_basis, err) && form_core(&h, err)
		&& factor_core(&x->scratch, f, h.core, x->values.data + i * x->values.ld, err);
}

/* ---- the terms of those that are kept ---- */

/* Each of the two sides carries the root of the singular value. */
static void share_values(struct al_matrix vectors, const double *values)
{
	for (size_t j = 0; j < vectors.cols; j++)
		for (size_t i = 0; i < vectors.rows; i++)
			vectors.data[i + j * vectors.ld] *= sqrt(values[j]);
}

/* out = basis vectors, for the basis that the head's side has, side R^-1, or is made again. */
static bool write_side(const struct al_heads *heads, enum al_projection projection, size_t head,
	struct al_matrix triangle, bool is_basis, struct al_matrix vectors, struct al_matrix out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix side;

	if (!al_take(&scratch, &side, out.rows, triangle.cols, err))
		return false;
	return al_head_copy(heads, projection, head, side, err)
		&& (is_basis ? al_qr(side, triangle, err)
			     : al_solve(AL_LEFT, AL_PLAIN, al_view(triangle), vectors, err))
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_columns(al_view(side), 0, triangle.rows),
			al_view(vectors), 0, out, err);
}

static bool write_head(void *context, size_t i, struct al_error *err)
{
	const struct greedy *x = context;
	const struct factors *f = &x->factors[i];
	const struct al_cp_terms *t = x->terms;
	const size_t n = x->n_kept[i];
	const struct al_matrix u = al_part(f->u, 0, 0, f->u.rows, n);
	const struct al_matrix v = al_part(f->v, 0, 0, f->v.rows, n);
	const double *values = x->values.data + i * x->values.ld;
	size_t first = 0;

	if (n == 0)
		return true;
	for (size_t j = 0; j < i; j++)
		first += x->n_kept[j];
	for (size_t r = first; r < first + n; r++)
		t->mixing.data[i + r * t->mixing.ld] = 1;
	share_values(u, values);
	share_values(v, values);
	return write_side(x->heads, AL_QUERY, i, f->query_triangle, f->query_is_basis, u,
		       al_part(t->query, 0, first, t->query.rows, n), err)
		&& write_side(x->heads, AL_KEY, al_kv_head(x->heads, i), f->key_triangle,
			f->key_is_basis, v, al_part(t->key, 0, first, t->key.rows, n), err);
}

static bool start(struct greedy *x, struct al_error *err)
{
	const size_t n = x->heads->n_heads, n_values = al_head_values(x->heads);

	x->factors = al_take_array(&x->scratch, n, sizeof(*x->factors), err);
	x->n_kept = al_take_array(&x->scratch, n, sizeof(*x->n_kept), err);
	if (!x->factors || !x->n_kept || !al_take(&x->scratch, &x->values, n_values, n, err)
		|| !al_parallel(n, factor_head, x, err))
		return false;
	choose(x->values.data, n, n_values, x->terms->query.cols, x->n_kept);
	return al_parallel(n, write_head, x, err);
}

bool al_start_greedy(const struct al_heads *heads, struct al_cp_terms *terms, struct al_error *err)
{
	struct greedy x = {.heads = heads, .terms = terms};
	const bool done = start(&x, err);

	al_scratch_finish(&x.scratch);
	return done;
}
