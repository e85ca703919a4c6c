/* A module's heads: shapes, checks, and copies in the other precision. */
#include "linalg/heads.h"

#include "linalg/internal.h"

struct al_run al_heads_run(const struct al_heads *h, enum al_projection projection)
{
	switch (projection) {
	case AL_QUERY:
		return (struct al_run){h->query, h->d_head, h->n_heads};
	case AL_KEY:
		return (struct al_run){h->key, h->d_head, h->n_kv_heads};
	case AL_VALUE:
		return (struct al_run){h->value, h->d_value, h->n_kv_heads};
	default:
		return (struct al_run){h->output, h->d_value, h->n_heads};
	}
}

struct al_view al_head_of(const struct al_heads *heads, enum al_projection projection, size_t head)
{
	const struct al_run run = al_heads_run(heads, projection);

	return al_columns(run.weights, head * run.width, run.width);
}

struct al_view al_projection_of(const struct al_heads *heads, enum al_projection projection)
{
	return al_heads_run(heads, projection).weights;
}

struct al_view_f al_projection_of_f(const struct al_heads *h, enum al_projection projection)
{
	const struct al_view_f all[] = {h->query_f, h->key_f, h->value_f, h->output_f};

	return all[projection];
}

struct al_view_f al_head_of_f(const struct al_heads *heads, enum al_projection projection,
	size_t head)
{
	const size_t width = al_heads_run(heads, projection).width;

	return al_columns_f(al_projection_of_f(heads, projection), head * width, width);
}

struct al_heads_shape al_heads_shape(const struct al_heads *heads)
{
	const bool is_single = heads->query_f.data != NULL;

	return (struct al_heads_shape){
		.d_query = is_single ? heads->query_f.rows : heads->query.rows,
		.d_key = is_single ? heads->key_f.rows : heads->key.rows,
		.d_head = heads->d_head,
		.n_heads = heads->n_heads,
		.n_kv_heads = heads->n_kv_heads,
		.is_single = is_single,
	};
}

/* ---- checks ---- */

static bool check_counts(const struct al_heads *heads, struct al_error *err)
{
	if (heads->n_heads == 0 || heads->n_kv_heads == 0)
		return al_fail(err, AL_EINPUT,
			"%zu heads with %zu key heads, expected at least one", heads->n_heads,
			heads->n_kv_heads);
	if (heads->n_heads % heads->n_kv_heads)
		return al_fail(err, AL_EINPUT,
			"n_heads (%zu) is not a multiple of n_kv_heads (%zu)", heads->n_heads,
			heads->n_kv_heads);
	return true;
}

static bool check_columns(const struct al_heads *heads, enum al_projection projection,
	struct al_error *err)
{
	static const char *const names[] = {"query", "key", "value", "output"};
	const struct al_run run = al_heads_run(heads, projection);
	const struct al_view_f single = al_projection_of_f(heads, projection);
	const bool is_single = heads->query_f.data != NULL;
	const size_t rows = is_single ? single.rows : run.weights.rows;
	const size_t cols = is_single ? single.cols : run.weights.cols;
	size_t expected;

	if (run.width == 0 || __builtin_mul_overflow(run.n_heads, run.width, &expected)
		|| cols != expected)
		return al_fail(err, AL_EINPUT, "%s: %zu columns, expected %zu heads of width %zu",
			names[projection], cols, run.n_heads, run.width ? run.width : 1);
	if (rows == 0)
		return al_fail(err, AL_EINPUT, "%s: no rows", names[projection]);
	return true;
}

bool al_heads_check_shape(const struct al_heads *heads, bool has_values, struct al_error *err)
{
	if (!check_counts(heads, err))
		return false;
	for (int p = 0; p < (has_values ? AL_N_PROJECTIONS : AL_VALUE); p++)
		if (!check_columns(heads, (enum al_projection)p, err))
			return false;
	return true;
}

bool al_heads_check_projections(const struct al_heads *heads, struct al_error *err)
{
	const bool has_outputs = heads->output.data || heads->output_f.data;

	if (al_has_values(heads) != has_outputs)
		return al_fail(err, AL_EINPUT, "W_V and W_O need each other");
	return al_heads_check_shape(heads, al_has_values(heads), err);
}

static bool check_data(const struct al_heads *heads, enum al_projection p, const char *name,
	struct al_error *err)
{
	const struct al_view wide = al_projection_of(heads, p);
	const struct al_view_f narrow = al_projection_of_f(heads, p);
	const bool is_single = al_heads_shape(heads).is_single;

	return (is_single ? al_check_f(name, narrow, err) : al_check(name, wide, err))
		&& ((is_single ? al_is_finite_f(narrow) : al_is_finite(wide))
			|| al_fail(err, AL_EINPUT, "%s: elements that are not finite", name));
}

bool al_heads_check(const struct al_heads *heads, double *norm_squared, struct al_error *err)
{
	if (!al_heads_check_shape(heads, false, err) || !check_data(heads, AL_QUERY, "query", err)
		|| !check_data(heads, AL_KEY, "key", err)
		|| !al_heads_norm(heads, norm_squared, err))
		return false;
	return *norm_squared > 0 || al_fail(err, AL_EINPUT, "every head is zero");
}

/* ---- copies ---- */

bool al_head_copy(const struct al_heads *heads, enum al_projection projection, size_t head,
	struct al_matrix out, struct al_error *err)
{
	if (al_heads_shape(heads).is_single)
		return al_widen(al_head_of_f(heads, projection, head), out, err);
	return al_copy(al_head_of(heads, projection, head), out, err);
}

bool al_heads_widen(struct al_scratch *scratch, const struct al_heads *heads, struct al_heads *out,
	struct al_error *err)
{
	struct al_matrix query, key;

	*out = *heads;
	if (!al_heads_shape(heads).is_single)
		return true;
	if (!al_take(scratch, &query, heads->query_f.rows, heads->query_f.cols, err)
		|| !al_take(scratch, &key, heads->key_f.rows, heads->key_f.cols, err)
		|| !al_widen(heads->query_f, query, err) || !al_widen(heads->key_f, key, err))
		return false;
	out->query = al_view(query);
	out->key = al_view(key);
	out->query_f = out->key_f = (struct al_view_f){0};
	return true;
}

struct narrowing {
	struct al_scratch *scratch;
	struct al_view *from[AL_N_PROJECTIONS];
	struct al_view_f *to[AL_N_PROJECTIONS];
};

static bool narrow(void *context, size_t p, struct al_error *err)
{
	const struct narrowing *x = context;
	const struct al_view from = *x->from[p];
	struct al_matrix_f copy;

	if (!from.data)
		return true;
	if (!al_take_f(x->scratch, &copy, from.rows, from.cols, err) || !al_narrow(from, copy, err))
		return false;
	*x->from[p] = (struct al_view){0};
	*x->to[p] = al_view_f(copy);
	return true;
}

bool al_heads_narrow(struct al_scratch *scratch, const struct al_heads *heads, struct al_heads *out,
	struct al_error *err)
{
	struct narrowing x = {scratch, {&out->query, &out->key, &out->value, &out->output},
		{&out->query_f, &out->key_f, &out->value_f, &out->output_f}};

	*out = *heads;
	return al_parallel(AL_N_PROJECTIONS, narrow, &x, err);
}

/* ---- norm ---- */

struct norm {
	const struct al_heads *heads;
	double *parts; /* [n_kv_heads] */
};

/* One key head and the query heads that share it. */
static bool norm_part(void *context, size_t kv_head, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct norm *x = context;
	const struct al_heads_shape s = al_heads_shape(x->heads);
	const size_t n_sharing = s.n_heads / s.n_kv_heads, first = kv_head * n_sharing;
	struct al_matrix query, key, query_gram, key_gram;

	if (!al_take(&scratch, &query, s.d_query, s.d_head, err)
		|| !al_take(&scratch, &key, s.d_key, s.d_head, err)
		|| !al_take(&scratch, &query_gram, s.d_head, s.d_head, err)
		|| !al_head_copy(x->heads, AL_KEY, kv_head, key, err)
		|| !al_take_gram(&scratch, AL_TRANSPOSED, al_view(key), &key_gram, err))
		return false;
	for (size_t i = first; i < first + n_sharing; i++) {
		if (!al_head_copy(x->heads, AL_QUERY, i, query, err)
			|| !al_gram(AL_TRANSPOSED, al_view(query), query_gram, err))
			return false;
		x->parts[kv_head] += al_inner(al_view(query_gram), al_view(key_gram));
	}
	return true;
}

bool al_heads_norm(const struct al_heads *heads, double *norm_squared, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct norm x = {.heads = heads};

	x.parts = al_take_array(&scratch, heads->n_kv_heads, sizeof(*x.parts), err);
	if (!x.parts || !al_parallel(heads->n_kv_heads, norm_part, &x, err))
		return false;
	*norm_squared = 0;
	for (size_t i = 0; i < heads->n_kv_heads; i++)
		*norm_squared += x.parts[i];
	return al_check_finite("norm", (struct al_view){norm_squared, 1, 1, 1}, err);
}

bool al_has_values(const struct al_heads *heads)
{
	return heads->value.data || heads->value_f.data;
}

size_t al_kv_head(const struct al_heads *heads, size_t head)
{
	return head * heads->n_kv_heads / heads->n_heads;
}

size_t al_own_head(const struct al_heads *heads, enum al_projection projection, size_t head)
{
	return projection == AL_KEY || projection == AL_VALUE ? al_kv_head(heads, head) : head;
}
