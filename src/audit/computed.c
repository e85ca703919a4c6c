/* The null of independent heads, computed: heads that have nothing in common but their spectra are
 * free. */
#include <stdlib.h>

#include "audit/nulls.h"
#include "base/random.h"
#include "linalg/free_sum.h"

/* Singular values that are put together, [values][terms], and how. */
struct terms {
	struct al_view view;
	struct al_matrix own; /* what `view` is of where nobody else has them */
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
	const size_t rows = x->t->of[x->own].r.rows, cols = x->t->of[x->shared].r.rows;
	AL_OWNED struct al_matrix stack = {0};
	bool ok = true;

	if (!al_matrix_init(&stack, x->size * rows, cols, err))
		return false;
	for (size_t i = 0; ok && i < x->size; i++)
		ok = multiply(x, kv_head, i, al_part(stack, i * rows, 0, rows, cols), err);
	return ok && al_singular_values(al_view(stack), values, err);
}

/* Of U_1 A_1 + U_2 A_2 + ..: what they share holds the sum together, so that only the bases U_i are
 * drawn, and once; a spectrum of so many numbers hardly differs from draw to draw. */
static bool sum_values(const struct group *x, size_t kv_head, size_t height,
	struct al_random *random, double *values, struct al_error *err)
{
	const size_t rows = x->t->of[x->own].r.rows, cols = x->t->of[x->shared].r.rows;
	AL_OWNED struct al_matrix u = {0}, a = {0}, sum = {0};
	bool ok = al_matrix_init(&u, height, rows, err) && al_matrix_init(&a, rows, cols, err)
		&& al_matrix_init(&sum, height, cols, err);

	for (size_t i = 0; ok && i < x->size; i++)
		ok = multiply(x, kv_head, i, a, err) && al_haar(random, u, err)
			&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(u), al_view(a), 1, sum, err);
	return ok && al_singular_values(al_view(sum), values, err);
}

static bool stack_groups(const struct group *x, struct terms *terms, struct al_error *err)
{
	const size_t rows = x->size * x->t->of[x->own].r.rows;
	const size_t n = x->t->shape.n_kv_heads;
	bool ok = al_matrix_init(&terms->own, al_least(rows, x->t->of[x->shared].r.rows), n, err);

	for (size_t g = 0; ok && g < n; g++)
		ok = stack_values(x, g, terms->own.data + g * terms->own.ld, err);
	terms->view = al_view(terms->own);
	return ok;
}

static bool sum_groups(const struct group *x, const struct al_null_name *name, struct terms *terms,
	struct al_error *err)
{
	const size_t n = x->t->shape.n_kv_heads;
	struct al_random *random = al_random_create(name->seed, name->module, x->own, 0);
	bool ok = al_matrix_init(&terms->own, al_least(terms->height, x->t->of[x->shared].r.rows),
		n, err);

	for (size_t g = 0; ok && g < n; g++)
		ok = sum_values(x, g, terms->height, random, terms->own.data + g * terms->own.ld,
			err);
	terms->view = al_view(terms->own);
	al_random_destroy(random);
	return ok;
}

/* ---- all kinds ---- */

struct all_terms {
	struct terms of[AL_N_SPECTRA]; /* without values where there are none */
};

static void finish_terms(struct all_terms *all)
{
	for (int kind = 0; kind < AL_N_SPECTRA; kind++)
		al_matrix_finish(&all->of[kind].own);
}

static bool init_terms(struct all_terms *all, const struct al_triangles *t,
	const struct al_spectra *heads, const struct al_null_name *name, struct al_error *err)
{
	const struct al_heads *shape = &t->shape;
	const size_t query = shape->query.rows, key = shape->key.rows;
	const struct al_matrix qk = heads->values[AL_SPECTRUM_QK],
			       ov = heads->values[AL_SPECTRUM_OV];
	const struct group scores = group_of(t, AL_QUERY, AL_KEY);
	const struct group outputs = group_of(t, AL_OUTPUT, AL_VALUE);
	struct terms *of = all->of;

	*all = (struct all_terms){0};
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
	return stack_groups(&scores, &of[AL_SPECTRUM_KU], err)
		&& sum_groups(&scores, name, &of[AL_SPECTRUM_QK], err)
		&& (ov.cols == 0 || sum_groups(&outputs, name, &of[AL_SPECTRUM_OV], err));
}

static bool find(const struct terms *terms, struct al_matrix *out, bool *is_found,
	struct al_error *err)
{
	if (terms->view.cols == 0)
		return true;
	return al_matrix_init(out, terms->n, 1, err)
		&& al_free_sum(terms->kind, terms->view, terms->height, out->data, out->rows,
			is_found, err);
}

struct task {
	const struct all_terms *terms;
	struct al_spectra *out;
	bool is_found[AL_N_SPECTRA];
};

static bool do_task(void *context, size_t index, struct al_error *err)
{
	struct task *x = context;

	x->is_found[index] = true;
	return find(&x->terms->of[index], &x->out->values[index], &x->is_found[index], err);
}

static bool find_all(const struct all_terms *terms, struct al_spectra *out, bool *is_found,
	struct al_error *err)
{
	struct task x = {terms, out, {false}};

	if (!al_parallel(AL_N_SPECTRA, do_task, &x, err))
		return false;
	*is_found = true;
	for (int kind = 0; kind < AL_N_SPECTRA; kind++)
		*is_found = *is_found && x.is_found[kind];
	return true;
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
	struct all_terms terms;
	struct al_spectra out = {0};

	*layer = out;
	*is_found = false;
	if (!applies(t, al_has_spectrum(heads, AL_SPECTRUM_OV)))
		return true;
	bool ok = init_terms(&terms, t, heads, name, err) && find_all(&terms, &out, is_found, err)
		&& (!*is_found || !thinned
			|| al_thinned_compute(thinned, &t->shape, terms.of[AL_SPECTRUM_QU].view,
				terms.of[AL_SPECTRUM_KU].view, &out, is_found, err));
	finish_terms(&terms);
	if (ok && *is_found)
		*layer = out;
	else
		al_spectra_finish(&out);
	return ok;
}
