/* The head tensor's factors: shapes, checks, and copies in the other precision. */
#include "linalg/heads.h"

#include "linalg/internal.h"

struct al_heads_shape al_heads_shape(const struct al_heads *heads)
{
	const bool is_single = heads->query_f.data != NULL;
	const size_t width = is_single ? heads->query_f.cols : heads->query.cols;

	return (struct al_heads_shape){
		.d_query = is_single ? heads->query_f.rows : heads->query.rows,
		.d_key = is_single ? heads->key_f.rows : heads->key.rows,
		.d_head = heads->n_heads ? width / heads->n_heads : 0,
		.n_heads = heads->n_heads,
		.n_kv_heads = heads->n_kv_heads,
		.is_single = is_single,
	};
}

/* ---- checks ---- */

static bool check_cols(const char *name, size_t cols, size_t n_heads, size_t d_head,
	struct al_error *err)
{
	if (d_head && cols / n_heads == d_head && cols % n_heads == 0)
		return true;
	return al_fail(err, AL_EINPUT, "%s: %zu columns, expected %zu heads of width %zu", name,
		cols, n_heads, d_head ? d_head : 1);
}

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

static bool fail_infinite(const char *name, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: elements that are not finite", name);
}

static bool check_data(const struct al_heads *heads, bool is_single, struct al_error *err)
{
	if (is_single)
		return al_check_f("query", heads->query_f, err)
			&& al_check_f("key", heads->key_f, err)
			&& (al_is_finite_f(heads->query_f) || fail_infinite("query", err))
			&& (al_is_finite_f(heads->key_f) || fail_infinite("key", err));
	return al_check("query", heads->query, err) && al_check("key", heads->key, err)
		&& (al_is_finite(heads->query) || fail_infinite("query", err))
		&& (al_is_finite(heads->key) || fail_infinite("key", err));
}

static bool check_rows(const struct al_heads_shape *s, struct al_error *err)
{
	if (s->d_query && s->d_key)
		return true;
	return al_fail(err, AL_EINPUT, "query has %zu rows and key %zu, expected at least one",
		s->d_query, s->d_key);
}

bool al_heads_check(const struct al_heads *heads, struct al_error *err)
{
	const struct al_heads_shape s = al_heads_shape(heads);
	double norm;

	if (!check_counts(heads, err) || !check_data(heads, s.is_single, err)
		|| !check_rows(&s, err)
		|| !check_cols("query", s.is_single ? heads->query_f.cols : heads->query.cols,
			s.n_heads, s.d_head, err)
		|| !check_cols("key", s.is_single ? heads->key_f.cols : heads->key.cols,
			s.n_kv_heads, s.d_head, err)
		|| !al_heads_norm(heads, &norm, err))
		return false;
	return norm > 0 || al_fail(err, AL_EINPUT, "every head is zero");
}

/* ---- copies ---- */

static bool widen(struct al_view_f from, struct al_matrix to, struct al_error *err)
{
	if (!al_check_shape("copy", to.rows, to.cols, from.rows, from.cols, err))
		return false;
	for (size_t j = 0; j < from.cols; j++)
		for (size_t i = 0; i < from.rows; i++)
			to.data[i + j * to.ld] = (double)from.data[i + j * from.ld];
	return true;
}

bool al_heads_copy_query(const struct al_heads *heads, size_t head, struct al_matrix out,
	struct al_error *err)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	if (s.is_single)
		return widen(al_columns_f(heads->query_f, head * s.d_head, s.d_head), out, err);
	return al_copy(al_columns(heads->query, head * s.d_head, s.d_head), out, err);
}

bool al_heads_copy_key(const struct al_heads *heads, size_t kv_head, struct al_matrix out,
	struct al_error *err)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	if (s.is_single)
		return widen(al_columns_f(heads->key_f, kv_head * s.d_head, s.d_head), out, err);
	return al_copy(al_columns(heads->key, kv_head * s.d_head, s.d_head), out, err);
}

bool al_wide_heads_init(struct al_wide_heads *wide, const struct al_heads *heads,
	struct al_error *err)
{
	*wide = (struct al_wide_heads){.heads = *heads};
	if (!al_heads_shape(heads).is_single)
		return true;
	if (!al_matrix_init(&wide->query, heads->query_f.rows, heads->query_f.cols, err)
		|| !al_matrix_init(&wide->key, heads->key_f.rows, heads->key_f.cols, err)
		|| !widen(heads->query_f, wide->query, err) || !widen(heads->key_f, wide->key, err))
		return false;
	wide->heads = (struct al_heads){.query = al_view(wide->query),
		.key = al_view(wide->key),
		.n_heads = heads->n_heads,
		.n_kv_heads = heads->n_kv_heads};
	return true;
}

void al_wide_heads_finish(struct al_wide_heads *wide)
{
	al_matrix_finish(&wide->key);
	al_matrix_finish(&wide->query);
}

bool al_narrow_heads_init(struct al_narrow_heads *narrow, const struct al_heads *heads,
	struct al_error *err)
{
	*narrow = (struct al_narrow_heads){.heads = *heads};
	if (al_heads_shape(heads).is_single)
		return true;
	if (!al_matrix_init_f(&narrow->query, heads->query.rows, heads->query.cols, err)
		|| !al_matrix_init_f(&narrow->key, heads->key.rows, heads->key.cols, err)
		|| !al_narrow(heads->query, narrow->query, err)
		|| !al_narrow(heads->key, narrow->key, err))
		return false;
	narrow->heads = (struct al_heads){.query_f = al_view_f(narrow->query),
		.key_f = al_view_f(narrow->key),
		.n_heads = heads->n_heads,
		.n_kv_heads = heads->n_kv_heads};
	return true;
}

void al_narrow_heads_finish(struct al_narrow_heads *narrow)
{
	al_matrix_finish_f(&narrow->key);
	al_matrix_finish_f(&narrow->query);
}

/* ---- norm ---- */

/* One key head and the query heads that share it. */
struct norm {
	const struct al_heads *heads;
	struct al_heads_shape shape;
	double *parts; /* [n_kv_heads] */
};

struct norm_room {
	struct al_matrix query, key, query_gram, key_gram;
};

static void norm_room_finish(struct norm_room *room)
{
	al_matrix_finish(&room->key_gram);
	al_matrix_finish(&room->query_gram);
	al_matrix_finish(&room->key);
	al_matrix_finish(&room->query);
}

static bool norm_room_init(struct norm_room *room, const struct al_heads_shape *s,
	struct al_error *err)
{
	*room = (struct norm_room){{0}, {0}, {0}, {0}};
	return al_matrix_init(&room->query, s->d_query, s->d_head, err)
		&& al_matrix_init(&room->key, s->d_key, s->d_head, err)
		&& al_matrix_init(&room->query_gram, s->d_head, s->d_head, err)
		&& al_matrix_init(&room->key_gram, s->d_head, s->d_head, err);
}

static bool sum_group(const struct norm *x, struct norm_room *room, size_t kv_head,
	struct al_error *err)
{
	const size_t n_sharing = x->shape.n_heads / x->shape.n_kv_heads;

	if (!al_heads_copy_key(x->heads, kv_head, room->key, err)
		|| !al_gram(AL_TRANSPOSED, al_view(room->key), room->key_gram, err))
		return false;
	for (size_t i = 0; i < n_sharing; i++) {
		if (!al_heads_copy_query(x->heads, kv_head * n_sharing + i, room->query, err)
			|| !al_gram(AL_TRANSPOSED, al_view(room->query), room->query_gram, err))
			return false;
		x->parts[kv_head] += al_inner(al_view(room->query_gram), al_view(room->key_gram));
	}
	return true;
}

static bool norm_part(void *context, size_t kv_head, struct al_error *err)
{
	const struct norm *x = context;
	struct norm_room room;

	bool done = norm_room_init(&room, &x->shape, err) && sum_group(x, &room, kv_head, err);
	norm_room_finish(&room);
	return done;
}

bool al_heads_norm(const struct al_heads *heads, double *norm_squared, struct al_error *err)
{
	struct norm x = {.heads = heads, .shape = al_heads_shape(heads)};
	struct al_matrix parts;

	if (!al_matrix_init(&parts, heads->n_kv_heads, 1, err))
		return false;
	x.parts = parts.data;
	bool done = al_parallel(heads->n_kv_heads, norm_part, &x, err);
	*norm_squared = 0;
	for (size_t i = 0; i < heads->n_kv_heads; i++)
		*norm_squared += parts.data[i];
	al_matrix_finish(&parts);
	return done && al_check_finite("norm", (struct al_view){norm_squared, 1, 1, 1}, err);
}
