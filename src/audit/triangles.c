/* Triangular factors, head by head. */
#include "audit/triangles.h"

#include <assert.h>

/* ---- room ---- */

bool al_triangles_init(struct al_triangles *t, const struct al_heads *shape, bool has_values,
	struct al_error *err)
{
	*t = (struct al_triangles){.shape = *shape};
	t->shape.query.data = t->shape.key.data = t->shape.value.data = t->shape.output.data = NULL;
	memset(t->shape.bias, 0, sizeof(t->shape.bias));
	memset(t->shape.gram, 0, sizeof(t->shape.gram));
	if (!al_heads_check_shape(shape, has_values, err))
		return false;
	for (int p = 0; p < (has_values ? AL_N_PROJECTIONS : AL_VALUE); p++) {
		const struct al_run run = al_heads_run(&t->shape, (enum al_projection)p);
		enum al_route **routes = &t->of[p].routes;
		*routes = al_take_array(&t->scratch, run.n_heads, sizeof(**routes), err);
		if (!*routes
			|| !al_take(&t->scratch, &t->of[p].r, al_least(run.weights.rows, run.width),
				run.weights.cols, err))
			return false;
	}
	return true;
}

struct al_view al_triangle_of(const struct al_triangles *t, enum al_projection projection,
	size_t head)
{
	const size_t width = al_heads_run(&t->shape, projection).width;

	return al_columns(al_view(t->of[projection].r), head * width, width);
}

/* ---- heads ---- */

void al_center(struct al_matrix a)
{
	for (size_t i = 0; i < a.rows; i++) {
		double mean = 0;
		for (size_t j = 0; j < a.cols; j++)
			mean += a.data[i + j * a.ld];
		mean /= (double)a.cols;
		for (size_t j = 0; j < a.cols; j++)
			a.data[i + j * a.ld] -= mean;
	}
}

struct addition {
	struct al_triangles *t;
	const struct al_heads *part;
	size_t first_kv_head;
};

static bool add_head(const struct addition *x, enum al_projection projection, size_t head,
	struct al_error *err)
{
	static const char *const names[] = {"query", "key", "value", "output"};
	const struct al_view weights = al_head_of(x->part, projection, head);
	const size_t n = al_heads_run(x->part, projection).n_heads;
	const size_t target = head + x->first_kv_head * (n / x->part->n_kv_heads);
	const struct al_matrix all = x->t->of[projection].r;

	return al_triangle(weights, al_part(all, 0, target * weights.cols, all.rows, weights.cols),
		       &x->t->of[projection].routes[target], err)
		|| al_in(err, "%s head %zu", names[projection], target);
}

/* The heads of all projections, numbered through. */
static bool add_numbered(void *context, size_t index, struct al_error *err)
{
	const struct addition *x = context;

	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const size_t n = al_heads_run(x->part, (enum al_projection)p).n_heads;
		if (index < n)
			return add_head(x, (enum al_projection)p, index, err);
		index -= n;
	}
	return true;
}

bool al_triangles_add(struct al_triangles *t, const struct al_heads *part, size_t first_kv_head,
	struct al_error *err)
{
	struct addition x = {t, part, first_kv_head};
	const size_t n = part->n_heads + part->n_kv_heads;

	if (!al_heads_check_projections(part, err))
		return false;
	assert(first_kv_head + part->n_kv_heads <= t->shape.n_kv_heads);
	return al_parallel(al_has_values(part) ? 2 * n : n, add_numbered, &x, err);
}

bool al_triangles_take(struct al_triangles *t, const struct al_heads *heads, struct al_error *err)
{
	*t = (struct al_triangles){0};
	return al_heads_check_projections(heads, err)
		&& al_triangles_init(t, heads, al_has_values(heads), err)
		&& al_triangles_add(t, heads, 0, err);
}

/* The triangle of their triangles. */
bool al_triangles_join(const struct al_triangles *t, enum al_projection projection, size_t first,
	size_t n, struct al_matrix out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_view one = al_triangle_of(t, projection, first);
	struct al_matrix all;

	if (n == 1)
		return al_copy(one, al_part(out, 0, 0, one.rows, one.cols), err);
	if (!al_take(&scratch, &all, n * one.rows, one.cols, err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!al_copy(al_triangle_of(t, projection, first + i),
			    al_part(all, i * one.rows, 0, one.rows, one.cols), err))
			return false;
	return al_qr_r(all, al_part(out, 0, 0, al_least(all.rows, all.cols), out.cols), err);
}

void al_triangles_finish(struct al_triangles *triangles)
{
	al_scratch_finish(&triangles->scratch);
}

bool al_triangles_has_values(const struct al_triangles *triangles)
{
	return triangles->of[AL_VALUE].routes != NULL;
}
