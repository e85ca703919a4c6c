/* How a module lies in the compressed file. */
#include "compress/layout.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

/* ---- slices ---- */

struct maker {
	struct al_module_layout *layout;
	struct al_arena *arena;
	const struct al_checkpoint *checkpoint;
};

static struct al_slice *add(struct maker *m, struct al_slice slice)
{
	struct al_module_layout *out = m->layout;

	out->slices = al_grow(m->arena, out->slices, out->n_slices, &out->room,
		sizeof(*out->slices));
	out->slices[out->n_slices] = slice;
	return &out->slices[out->n_slices++];
}

bool al_factor_is_alone(const struct al_factor *factor)
{
	return factor->n_runs == 1 && factor->runs[0].first == 0
		&& factor->runs[0].width
		== al_head_axis_of(factor->runs[0].tensor, factor->runs[0].is_slow).length;
}

/* "h.0.attn." of "h.0.attn.c_attn.weight". */
static char *stem_of(struct maker *m, const struct al_factor *factor)
{
	const char *name = factor->runs[0].tensor->name;
	size_t n = strlen(name);

	if (n > 7 && strcmp(name + n - 7, ".weight") == 0)
		n -= 7;
	while (n > 0 && name[n - 1] != '.')
		n--;
	return al_strndup(m->arena, name, n);
}

static bool add_new(struct maker *m, const char *name, enum al_module_piece piece, int64_t rows,
	int64_t width, struct al_error *err)
{
	const struct al_factor *query = &m->layout->attention->factors[AL_QUERY];
	const char *full = al_format(m->arena, "%s%s", stem_of(m, query), name);

	if (al_checkpoint_find(m->checkpoint, full))
		return al_fail(err, AL_EINPUT, "tensor %s exists already", full);
	add(m,
		(struct al_slice){.name = full,
			.after = query->runs[0].tensor,
			.is_slow = true,
			.piece = piece,
			.width = width,
			.rows = rows,
			.dtype = query->dtype});
	return true;
}

/* All runs of a factor make room for `per_head` columns of each head instead of its width. */
static void replace_runs(struct maker *m, const struct al_factor *factor,
	enum al_module_piece piece, int64_t per_head)
{
	int64_t at = 0;

	for (size_t i = 0; i < factor->n_runs; i++) {
		const struct al_factor_run *run = &factor->runs[i];
		const int64_t width = run->width / factor->width * per_head;
		add(m,
			(struct al_slice){.source = run->tensor,
				.is_slow = run->is_slow,
				.first = run->first,
				.length = run->width,
				.piece = piece,
				.column = at,
				.width = width,
				.rows = factor->rows,
				.dtype = run->tensor->dtype});
		at += width;
	}
}

static bool check_runs(const struct al_factor *factor, struct al_error *err)
{
	for (size_t i = 0; i < factor->n_runs; i++) {
		const struct al_tensor *tensor = factor->runs[i].tensor;
		if (factor->runs[i].width % factor->width != 0)
			return al_fail(err, AL_EINPUT, "tensor %s interleaves parts of heads",
				tensor->name);
		if (!tensor->dtype->from_double || tensor->dtype->block_elements != 1)
			return al_fail(err, AL_EINPUT, "tensor %s is of %s, which is not written",
				tensor->name, al_dtype_title(tensor->dtype));
	}
	return true;
}

static void keep_runs(struct maker *m, const struct al_factor *factor, enum al_module_piece piece)
{
	int64_t at = 0;

	for (size_t i = 0; i < factor->n_runs; at += factor->runs[i++].width)
		add(m,
			(struct al_slice){.source = factor->runs[i].tensor,
				.is_slow = factor->runs[i].is_slow,
				.first = factor->runs[i].first,
				.length = factor->runs[i].width,
				.is_kept = true,
				.piece = piece,
				.column = at,
				.width = factor->runs[i].width,
				.rows = factor->rows,
				.dtype = factor->runs[i].tensor->dtype});
}

/* ---- the methods ---- */

/* A projection that is stored alone keeps its tensor's name at another width; one that is fused
 * with others leaves them and gets a tensor of its own. */
static bool share(struct maker *m, enum al_projection p, const char *name, int64_t rank,
	struct al_error *err)
{
	const struct al_factor *factor = &m->layout->attention->factors[p];
	const struct al_factor *bias = &m->layout->attention->biases[p];
	const enum al_module_piece piece = (enum al_module_piece)p;

	replace_runs(m, bias, (enum al_module_piece)(AL_PIECE_QUERY_BIAS + (int)p), 0);
	if (!al_factor_is_alone(factor)) {
		replace_runs(m, factor, piece, 0);
		return add_new(m, name, piece, factor->rows, rank, err);
	}
	replace_runs(m, factor, piece, 0);
	m->layout->slices[m->layout->n_slices - 1].width = rank;
	return true;
}

/* Keys or values of so many columns: alone they keep their tensor's name, in a fused tensor they
 * leave it for one of their own. */
static bool share_columns(struct maker *m, enum al_projection p, int64_t columns,
	struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;
	const struct al_factor *const factors[] = {&a->factors[p], &a->biases[p]};
	const enum al_module_piece pieces[] = {(enum al_module_piece)p,
		(enum al_module_piece)(AL_PIECE_QUERY_BIAS + (int)p)};
	const char *const names[] = {p == AL_KEY ? "key.weight" : "value.weight",
		p == AL_KEY ? "key.bias" : "value.bias"};

	for (int i = 0; i < 2; i++) {
		if (factors[i]->n_runs == 0)
			continue;
		replace_runs(m, factors[i], pieces[i], 0);
		if (al_factor_is_alone(factors[i]))
			m->layout->slices[m->layout->n_slices - 1].width = columns;
		else if (!add_new(m, names[i], pieces[i], factors[i]->rows, columns, err))
			return false;
	}
	return true;
}

static bool lay_collab(struct maker *m, struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;
	const int64_t rank = m->layout->rank;

	return share(m, AL_QUERY, "query.weight", rank, err)
		&& share(m, AL_KEY, "key.weight", rank, err)
		&& add_new(m, "mixing", AL_PIECE_MIXING, rank, a->n_heads, err)
		&& (a->biases[AL_QUERY].n_runs == 0
			|| add_new(m, "content_bias.weight", AL_PIECE_CONTENT,
				a->factors[AL_KEY].rows, a->n_heads, err));
}

static bool lay_tucker(struct maker *m, struct al_error *err)
{
	static const char *const names[][2] = {{"query.down.weight", "query.up.weight"},
		{"key.down.weight", "key.up.weight"}};

	for (int p = AL_QUERY; p <= AL_KEY; p++) {
		const struct al_factor *factor = &m->layout->attention->factors[p];
		const int64_t rank = al_tucker_width(m->layout->attention, (enum al_projection)p,
			m->layout->rank);
		replace_runs(m, factor, (enum al_module_piece)p, 0);
		keep_runs(m, &m->layout->attention->biases[p],
			(enum al_module_piece)(AL_PIECE_QUERY_BIAS + (int)p));
		if (!add_new(m, names[p][0], (enum al_module_piece)(AL_PIECE_QUERY_DOWN + p),
			    factor->rows, rank, err)
			|| !add_new(m, names[p][1], (enum al_module_piece)p, rank,
				factor->heads * factor->width, err))
			return false;
	}
	return true;
}

static bool lay_qk(struct maker *m, struct al_error *err)
{
	(void)err;
	for (int p = AL_QUERY; p <= AL_KEY; p++) {
		replace_runs(m, &m->layout->attention->factors[p], (enum al_module_piece)p,
			m->layout->rank);
		replace_runs(m, &m->layout->attention->biases[p],
			(enum al_module_piece)(AL_PIECE_QUERY_BIAS + (int)p), m->layout->rank);
	}
	return true;
}

/* A key/value head goes when all its query heads do. */
static bool check_groups(const struct al_module_layout *layout, struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	const int64_t group = a->n_heads / a->n_kv_heads;

	for (int64_t i = 0; i < a->n_heads; i++)
		if (layout->is_dropped[i] != layout->is_dropped[i - i % group])
			return al_fail(err, AL_EINPUT,
				"head %" PRId64 " shares its keys with heads %" PRId64
				" to %" PRId64 ": drop all of them or none",
				i, i - i % group, i - i % group + group - 1);
	return al_layout_heads(layout, false) > 0
		|| al_fail(err, AL_EINPUT, "none of its %" PRId64 " heads would be left",
			a->n_heads);
}

/* Run by run and head by head: kept, or gone. */
static void drop_heads(struct maker *m, const struct al_factor *factor, enum al_module_piece piece)
{
	const struct al_attention *a = m->layout->attention;
	int64_t head = 0, column = 0;

	for (size_t i = 0; i < factor->n_runs; i++) {
		const struct al_factor_run *run = &factor->runs[i];
		for (int64_t at = 0; at < run->width; at += factor->width, head++) {
			const bool is_kept =
				!m->layout->is_dropped[head * a->n_heads / factor->heads];
			const bool is_copied = is_kept
				&& !(m->layout->is_refitted && piece == AL_PIECE_OUTPUT);
			add(m,
				(struct al_slice){.source = run->tensor,
					.is_slow = run->is_slow,
					.first = run->first + at,
					.length = factor->width,
					.is_kept = is_copied,
					.piece = piece,
					.column = column,
					.width = is_kept ? factor->width : 0,
					.rows = factor->rows,
					.dtype = run->tensor->dtype});
			column += is_kept ? factor->width : 0;
		}
	}
}

static bool lay_drop(struct maker *m, struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;

	if (!check_groups(m->layout, err) || !check_runs(&a->factors[AL_VALUE], err)
		|| !check_runs(&a->factors[AL_OUTPUT], err))
		return false;
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		drop_heads(m, &a->factors[p], (enum al_module_piece)p);
		if (p != AL_OUTPUT)
			drop_heads(m, &a->biases[p],
				(enum al_module_piece)(AL_PIECE_QUERY_BIAS + (int)p));
	}
	return true;
}

/* ---- methods on values ---- */

/* The projections that stay, for whoever compares them. */
static void keep(struct maker *m, enum al_projection p)
{
	keep_runs(m, &m->layout->attention->factors[p], (enum al_module_piece)p);
	keep_runs(m, &m->layout->attention->biases[p],
		(enum al_module_piece)(AL_PIECE_QUERY_BIAS + (int)p));
}

static bool check_values(const struct al_attention *a, struct al_error *err)
{
	return check_runs(&a->factors[AL_VALUE], err) && check_runs(&a->factors[AL_OUTPUT], err);
}

static bool lay_ov(struct maker *m, struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;

	keep(m, AL_QUERY);
	keep(m, AL_KEY);
	replace_runs(m, &a->factors[AL_VALUE], AL_PIECE_VALUE, m->layout->rank);
	replace_runs(m, &a->biases[AL_VALUE], AL_PIECE_VALUE_BIAS, m->layout->rank);
	replace_runs(m, &a->factors[AL_OUTPUT], AL_PIECE_OUTPUT, m->layout->rank);
	return check_values(a, err);
}

static bool lay_latent(struct maker *m, struct al_error *err)
{
	static const char *const names[][2] = {{"key.down.weight", "key.up.weight"},
		{"value.down.weight", "value.up.weight"}};
	const enum al_projection p = m->layout->of_keys ? AL_KEY : AL_VALUE;
	const struct al_factor *factor = &m->layout->attention->factors[p];
	const char *const *own = names[p == AL_VALUE];

	for (int other = 0; other < AL_N_PROJECTIONS; other++)
		if (other == AL_OUTPUT && m->layout->is_refitted)
			replace_runs(m, &m->layout->attention->factors[AL_OUTPUT], AL_PIECE_OUTPUT,
				m->layout->attention->factors[AL_OUTPUT].width);
		else if (other != (int)p)
			keep(m, (enum al_projection)other);
	replace_runs(m, factor, (enum al_module_piece)p, 0);
	keep_runs(m, &m->layout->attention->biases[p],
		(enum al_module_piece)(AL_PIECE_QUERY_BIAS + (int)p));
	return check_values(m->layout->attention, err)
		&& add_new(m, own[0], (enum al_module_piece)(AL_PIECE_QUERY_DOWN + (int)p),
			factor->rows, m->layout->rank, err)
		&& add_new(m, own[1], (enum al_module_piece)p, m->layout->rank,
			factor->heads * factor->width, err);
}

static bool lay_gqa(struct maker *m, struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;

	if (a->n_kv_heads % m->layout->rank != 0)
		return al_fail(err, AL_EINPUT,
			"its %" PRId64 " key/value heads make no %" PRId64 " groups of one size",
			a->n_kv_heads, m->layout->rank);
	if (!m->layout->of_keys) {
		keep(m, AL_QUERY);
		keep(m, AL_KEY);
	} else {
		replace_runs(m, &a->factors[AL_QUERY], AL_PIECE_QUERY, a->d_head);
		replace_runs(m, &a->biases[AL_QUERY], AL_PIECE_QUERY_BIAS, a->d_head);
		if (!share_columns(m, AL_KEY, m->layout->rank * a->d_head, err))
			return false;
	}
	if (!share_columns(m, AL_VALUE, m->layout->rank * a->d_value, err))
		return false;
	replace_runs(m, &a->factors[AL_OUTPUT], AL_PIECE_OUTPUT, a->factors[AL_OUTPUT].width);
	return check_values(a, err);
}

/* Shared queries and keys as wide as one head, and one value. */
static bool lay_mhe_mul(struct maker *m, struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;

	if (!check_values(a, err) || !lay_collab(m, err)
		|| !share_columns(m, AL_VALUE, a->d_value, err))
		return false;
	replace_runs(m, &a->factors[AL_OUTPUT], AL_PIECE_OUTPUT, a->factors[AL_OUTPUT].width);
	return true;
}

bool al_layout_make(struct al_module_layout *out, struct al_arena *arena,
	const struct al_checkpoint *checkpoint, const struct al_module_layout *wanted,
	struct al_error *err)
{
	static bool (*const methods[])(struct maker *, struct al_error *) = {lay_collab, lay_tucker,
		lay_qk, lay_drop, lay_ov, lay_latent, lay_gqa, lay_drop, lay_mhe_mul};
	const struct al_attention *attention = wanted->attention;
	struct maker m = {.layout = out, .arena = arena, .checkpoint = checkpoint};

	*out = *wanted;
	return al_method_check(attention, wanted->method, wanted->of_keys, err)
		&& check_runs(&attention->factors[AL_QUERY], err)
		&& check_runs(&attention->factors[AL_KEY], err) && methods[wanted->method](&m, err);
}
