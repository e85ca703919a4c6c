/* The null of independent heads, computed: heads that have nothing in common but their spectra are
 * free. */
#include "audit/nulls.h"
#include "base/random.h"
#include "linalg/free_sum.h"

/* Singular values that are put together, [values][terms], and how. */
struct terms {
	struct al_view view; /* without values where there are none */
	size_t height, n; /* of the whole; its singular values */
	enum al_free_kind kind;
};

static struct terms terms_of(struct al_matrix values, size_t height, size_t width,
	enum al_free_kind kind)
{
	return (struct terms){.view = al_view(values),
		.height = height,
		.n = al_least(height, width),
		.kind = kind};
}

/* ---- groups: query heads that share a key/value head ---- */

struct group {
	const struct al_triangles *t;
	enum al_projection own, shared; /* one a query head, one a key/value head */
	size_t size;
};

static struct group group_of(const struct al_triangles *t, enum al_projection own,
	enum al_projection shared)
{
	return (struct group){t, own, shared, t->shape.n_heads / t->shape.n_kv_heads};
}

/* A_i = R_i S_g^T, whose singular values are the head's. */
static bool multiply(const struct group *x, size_t kv_head, size_t i, struct al_matrix out,
	struct al_error *err)
{
	return al_gemm(AL_PLAIN, AL_TRANSPOSED, 1,
		al_triangle_of(x->t, x->own, kv_head * x->size + i),
		al_triangle_of(x->t, x->shared, kv_head), 0, out, err);
}

/* Of [A_1; A_2 ..] of the group's heads: their products side by side, seen from what they share. */
static bool stack_values(const struct group *x, size_t kv_head, double *values,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t rows = x->t->of[x->own].r.rows, cols = x->t->of[x->shared].r.rows;
	struct al_matrix stack;

	if (!al_take(&scratch, &stack, x->size * rows, cols, err))
		return false;
	for (size_t i = 0; i < x->size; i++)
		if (!multiply(x, kv_head, i, al_part(stack, i * rows, 0, rows, cols), err))
			return false;
	return al_singular_values(al_view(stack), values, err);
}

/* Of U_1 A_1 + U_2 A_2 + ..: what they share holds the sum together, so that only the bases U_i are
 * drawn, and once; a spectrum of so many numbers hardly differs from draw to draw. */
static bool sum_values(const struct group *x, size_t kv_head, size_t height,
	struct al_random *random, double *values, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t rows = x->t->of[x->own].r.rows, cols = x->t->of[x->shared].r.rows;
	struct al_matrix u, a, sum;

	if (!al_take(&scratch, &u, height, rows, err) || !al_take(&scratch, &a, rows, cols, err)
		|| !al_take(&scratch, &sum, height, cols, err))
		return false;
	for (size_t i = 0; i < x->size; i++)
		if (!multiply(x, kv_head, i, a, err) || !al_haar(random, u, err)
			|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(u), al_view(a), 1, sum, err))
			return false;
	return al_singular_values(al_view(sum), values, err);
}

static bool stack_groups(struct al_scratch *scratch, const struct group *x, struct terms *terms,
	struct al_error *err)
{
	const size_t rows = x->size * x->t->of[x->own].r.rows;
	const size_t n = x->t->shape.n_kv_heads;
	struct al_matrix values;

	if (!al_take(scratch, &values, al_least(rows, x->t->of[x->shared].r.rows), n, err))
		return false;
	for (size_t g = 0; g < n; g++)
		if (!stack_values(x, g, values.data + g * values.ld, err))
			return false;
	terms->view = al_view(values);
	return true;
}

static bool sum_groups(struct al_scratch *scratch, const struct group *x,
	const struct al_null_name *name, struct terms *terms, struct al_error *err)
{
	const size_t n = x->t->shape.n_kv_heads;
	struct al_matrix values;

	if (!al_take(scratch, &values, al_least(terms->height, x->t->of[x->shared].r.rows), n, err))
		return false;
	struct al_random *random = al_random_create(name->seed, name->module, x->own, 0);
	bool ok = true;
	for (size_t g = 0; ok && g < n; g++)
		ok = sum_values(x, g, terms->height, random, values.data + g * values.ld, err);
	al_random_destroy(random);
	terms->view = al_view(values);
	return ok;
}

/* ---- all kinds ---- */

static bool find_terms(struct al_scratch *scratch, struct terms of[AL_N_SPECTRA],
	const struct al_triangles *t, const struct al_spectra *heads,
	const struct al_null_name *name, struct al_error *err)
{
	const struct al_heads *shape = &t->shape;
	const size_t query = shape->query.rows, key = shape->key.rows;
	const struct al_matrix qk = heads->values[AL_SPECTRUM_QK],
			       ov = heads->values[AL_SPECTRUM_OV];
	const struct group scores = group_of(t, AL_QUERY, AL_KEY);
	const struct group outputs = group_of(t, AL_OUTPUT, AL_VALUE);

	of[AL_SPECTRUM_Q] = terms_of(heads->values[AL_SPECTRUM_Q], query, shape->query.cols,
		AL_FREE_BESIDE);
	of[AL_SPECTRUM_K] = terms_of(heads->values[AL_SPECTRUM_K], key, shape->key.cols,
		AL_FREE_BESIDE);
	of[AL_SPECTRUM_QU] = terms_of(qk, query, qk.rows * qk.cols, AL_FREE_BESIDE);
	of[AL_SPECTRUM_KU] = terms_of(qk, key, qk.rows * qk.cols, AL_FREE_BESIDE);
	of[AL_SPECTRUM_QK] = terms_of(qk, query, qk.rows * shape->n_kv_heads, AL_FREE_SUM);
	of[AL_SPECTRUM_OV] = terms_of(ov, shape->value.rows, ov.rows * shape->n_kv_heads,
		AL_FREE_SUM);
	if (scores.size == 1)
		return true;
	of[AL_SPECTRUM_KU].n = al_least(key, shape->key.cols);
	return stack_groups(scratch, &scores, &of[AL_SPECTRUM_KU], err)
		&& sum_groups(scratch, &scores, name, &of[AL_SPECTRUM_QK], err)
		&& (ov.cols == 0 || sum_groups(scratch, &outputs, name, &of[AL_SPECTRUM_OV], err));
}

struct task {
	struct terms terms[AL_N_SPECTRA];
	struct al_spectra *out;
	bool is_found[AL_N_SPECTRA];
};

static bool do_task(void *context, size_t kind, struct al_error *err)
{
	struct task *x = context;
	const struct terms *terms = &x->terms[kind];
	struct al_matrix *out = &x->out->values[kind];

	x->is_found[kind] = true;
	return terms->view.cols == 0
		|| (al_take(&x->out->scratch, out, terms->n, 1, err)
			&& al_free_sum(terms->kind, terms->view, terms->height, out->data,
				out->rows, &x->is_found[kind], err));
}

/* Products of sums need both sides in spaces of one size. */
static bool applies(const struct al_triangles *t, bool has_values)
{
	return t->shape.query.rows == t->shape.key.rows
		&& (!has_values || t->shape.value.rows == t->shape.output.rows);
}

bool al_null_compute(struct al_spectra *layer, struct al_thinned *thinned,
	const struct al_triangles *t, const struct al_spectra *heads,
	const struct al_null_name *name, bool *is_found, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct task x = {.out = layer};

	*is_found = applies(t, al_has_spectrum(heads, AL_SPECTRUM_OV));
	if (!*is_found)
		return true;
	if (!find_terms(&scratch, x.terms, t, heads, name, err)
		|| !al_parallel(AL_N_SPECTRA, do_task, &x, err))
		return false;
	for (int kind = 0; kind < AL_N_SPECTRA; kind++)
		*is_found = *is_found && x.is_found[kind];
	return !*is_found || !thinned
		|| al_thinned_compute(thinned, &t->shape, x.terms[AL_SPECTRUM_QU].view,
			x.terms[AL_SPECTRUM_KU].view, layer, is_found, err);
}
