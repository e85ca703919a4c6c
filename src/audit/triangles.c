/* Triangular factors, head by head. */
#include "audit/triangles.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int count_projections(bool has_values)
{
	return has_values ? AL_N_PROJECTIONS : AL_VALUE;
}

/* ---- room ---- */

static bool init_projection(struct al_triangles *t, enum al_projection projection,
	struct al_error *err)
{
	const struct al_run run = al_heads_run(&t->shape, projection);
	const size_t height = run.weights.rows < run.width ? run.weights.rows : run.width;

	if (!al_matrix_init(&t->of[projection].r, height, run.weights.cols, err))
		return false;
	t->of[projection].routes = al_calloc(run.n_heads, sizeof(enum al_route));
	return true;
}

bool al_triangles_init(struct al_triangles *t, const struct al_heads *shape, bool has_values,
	struct al_error *err)
{
	*t = (struct al_triangles){.shape = *shape};
	t->shape.query.data = t->shape.key.data = t->shape.value.data = t->shape.output.data = NULL;
	memset(t->shape.bias, 0, sizeof(t->shape.bias));
	if (!al_heads_check_shape(shape, has_values, err))
		return false;
	for (int p = 0; p < count_projections(has_values); p++) {
		if (!init_projection(t, (enum al_projection)p, err)) {
			al_triangles_finish(t);
			return false;
		}
	}
	return true;
}

void al_triangles_finish(struct al_triangles *t)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		al_matrix_finish(&t->of[p].r);
		free(t->of[p].routes);
		t->of[p].routes = NULL;
	}
}

struct al_view al_triangle_of(const struct al_triangles *t, enum al_projection projection,
	size_t head)
{
	const size_t width = al_heads_run(&t->shape, projection).width;

	return al_columns(al_view(t->of[projection].r), head * width, width);
}

/* ---- heads ---- */

void al_centre(struct al_matrix a)
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

/* Where a part's head stands in the module. */
static size_t target_head(const struct addition *x, enum al_projection projection, size_t head)
{
	const size_t group = x->t->shape.n_heads / x->t->shape.n_kv_heads;
	const bool is_shared = projection == AL_KEY || projection == AL_VALUE;

	return head + x->first_kv_head * (is_shared ? 1 : group);
}

static bool add_head(const struct addition *x, enum al_projection projection, size_t head,
	struct al_error *err)
{
	static const char *const names[] = {"query", "key", "value", "output"};
	const struct al_view weights = al_head_of(x->part, projection, head);
	const struct al_view no_gram = {.ld = 1};
	const size_t target = target_head(x, projection, head);
	const struct al_matrix all = x->t->of[projection].r;
	struct al_matrix r = al_part(all, 0, target * weights.cols, all.rows, weights.cols);
	enum al_route *route = &x->t->of[projection].routes[target];

	return al_triangle(weights, no_gram, r, route, err)
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

static bool fits(const struct al_triangles *t, const struct al_heads *part)
{
	const struct al_heads *whole = &t->shape;
	const bool has_values = t->of[AL_VALUE].routes != NULL;

	return part->d_head == whole->d_head
		&& part->n_heads / part->n_kv_heads == whole->n_heads / whole->n_kv_heads
		&& part->query.rows == whole->query.rows && part->key.rows == whole->key.rows
		&& al_has_values(part) == has_values
		&& (!has_values
			|| (part->d_value == whole->d_value && part->value.rows == whole->value.rows
				&& part->output.rows == whole->output.rows));
}

bool al_triangles_add(struct al_triangles *t, const struct al_heads *part, size_t first_kv_head,
	struct al_error *err)
{
	struct addition x = {t, part, first_kv_head};
	const size_t n = part->n_heads + part->n_kv_heads, n_kv_heads = t->shape.n_kv_heads;

	if (!al_heads_check_projections(part, err))
		return false;
	if (!fits(t, part))
		return al_fail(err, AL_EINPUT, "heads of another shape than the module's");
	if (first_kv_head > n_kv_heads || part->n_kv_heads > n_kv_heads - first_kv_head)
		return al_fail(err, AL_EINPUT,
			"%zu key/value heads from %zu on: the module has %zu", part->n_kv_heads,
			first_kv_head, n_kv_heads);
	return al_parallel(al_has_values(part) ? 2 * n : n, add_numbered, &x, err);
}

bool al_triangles_take(struct al_triangles *t, const struct al_heads *heads, struct al_error *err)
{
	*t = (struct al_triangles){0};
	if (!al_heads_check_projections(heads, err)
		|| !al_triangles_init(t, heads, al_has_values(heads), err))
		return false;
	if (al_triangles_add(t, heads, 0, err))
		return true;
	al_triangles_finish(t);
	return false;
}

/* The triangle of their triangles. */
bool al_triangles_join(const struct al_triangles *t, enum al_projection projection, size_t first,
	size_t n, struct al_matrix out, struct al_error *err)
{
	const struct al_view one = al_triangle_of(t, projection, first);
	AL_OWNED struct al_matrix all = {0};

	if (n == 1)
		return al_copy(one, al_part(out, 0, 0, one.rows, one.cols), err);
	if (!al_matrix_init(&all, n * one.rows, one.cols, err))
		return false;
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++)
		ok = al_copy(al_triangle_of(t, projection, first + i),
			al_part(all, i * one.rows, 0, one.rows, one.cols), err);
	size_t height = all.rows < all.cols ? all.rows : all.cols;
	return ok && al_qr_r(all, al_part(out, 0, 0, height, out.cols), err);
}
