/* How a module lies in the compressed file. */
#include "compress/layout.h"

/* ---- slices ---- */

struct maker {
	struct al_module_layout *layout;
	struct al_arena *arena;
	const struct al_checkpoint *checkpoint;
};

static void add(struct maker *m, struct al_slice slice)
{
	struct al_module_layout *out = m->layout;

	out->slices = al_grow(m->arena, out->slices, out->n_slices, &out->room,
		sizeof(*out->slices));
	out->slices[out->n_slices++] = slice;
}

static bool is_alone(const struct al_factor *factor)
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

/* In what format a tensor's new numbers wait to be written. */
static const struct al_dtype *aside_of(const struct al_dtype *stored)
{
	return stored->block_elements > 1 ? al_dtype_named("f32") : stored;
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
			.dtype = aside_of(query->dtype)});
	return true;
}

/* All runs of a factor, which get `per_head` columns for each head in place of its width, or are
 * kept; where heads go, head by head. */
static void add_runs(struct maker *m, const struct al_factor *factor, enum al_module_piece piece,
	int64_t per_head, bool is_kept)
{
	const bool *is_dropped = m->layout->is_dropped;
	int64_t head = 0, column = 0;

	for (size_t i = 0; i < factor->n_runs; i++) {
		const struct al_factor_run *run = &factor->runs[i];
		const int64_t step = is_dropped ? factor->width : run->width;
		const int64_t n = step / factor->width;
		for (int64_t at = 0; at < run->width; at += step, head += n) {
			const bool is_left = !is_dropped
				|| !is_dropped[head * m->layout->attention->n_heads
					/ factor->heads];
			const struct al_slice slice = {.source = run->tensor,
				.is_slow = run->is_slow,
				.first = run->first + at,
				.length = step,
				.is_kept = is_kept && is_left,
				.piece = piece,
				.column = column,
				.width = is_left ? n * per_head : 0,
				.rows = factor->rows,
				.dtype = aside_of(run->tensor->dtype)};
			add(m, slice);
			column += slice.width;
		}
	}
}

/* ---- the methods ---- */

/* The fate of a projection. */
enum form {
	UNTOUCHED, /* of no interest to the method */
	KEPT, /* for comparing them; without the dropped heads */
	NEW, /* the same shape */
	NARROW, /* each head has so many columns as the rank is */
	MIXED, /* so many columns for all heads as the rank is, no bias */
	SHARED, /* columns of fewer heads */
	PRODUCT, /* a narrow matrix before it */
};

static enum form form_of(const struct al_module_layout *layout, enum al_projection p)
{
	static const enum form forms[AL_N_METHODS][AL_N_PROJECTIONS] = {
		[AL_METHOD_COLLAB] = {MIXED, MIXED},
		[AL_METHOD_TUCKER] = {PRODUCT, PRODUCT},
		[AL_METHOD_QK] = {NARROW, NARROW},
		[AL_METHOD_DROP] = {KEPT, KEPT, KEPT, KEPT},
		[AL_METHOD_OV] = {KEPT, KEPT, NARROW, NARROW},
		[AL_METHOD_LATENT] = {KEPT, KEPT, PRODUCT, KEPT},
		[AL_METHOD_GQA] = {KEPT, KEPT, SHARED, NEW},
		[AL_METHOD_MERGE] = {KEPT, KEPT, KEPT, KEPT},
		[AL_METHOD_MHE_MUL] = {MIXED, MIXED, SHARED, NEW},
	};
	static const enum form of_keys[AL_N_METHODS][AL_N_PROJECTIONS] = {
		[AL_METHOD_LATENT] = {KEPT, PRODUCT, KEPT, KEPT},
		[AL_METHOD_GQA] = {NEW, SHARED, SHARED, NEW},
	};
	const enum form form = (layout->of_keys ? of_keys : forms)[layout->method][p];

	if (form == NARROW && layout->is_padded)
		return NEW;
	return layout->is_refitted && p == AL_OUTPUT && form == KEPT ? NEW : form;
}

int64_t al_layout_shared(const struct al_module_layout *layout, enum al_projection p)
{
	if (form_of(layout, p) != SHARED)
		return 0;
	return layout->method == AL_METHOD_GQA ? layout->rank : 1;
}

/* So many columns: alone they keep their tensor's name, in a fused tensor they leave it for one of
 * their own. */
static bool lay_columns(struct maker *m, enum al_projection p, bool is_bias, int64_t columns,
	struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;
	const struct al_factor *factor = is_bias ? &a->biases[p] : &a->factors[p];
	const enum al_module_piece piece = al_piece_of(p, is_bias);
	const char *name = al_format(m->arena, "%s.%s", al_projection_names[p],
		is_bias ? "bias" : "weight");

	if (factor->n_runs == 0)
		return true;
	add_runs(m, factor, piece, 0, false);
	if (columns > 0 && !is_alone(factor))
		return add_new(m, name, piece, factor->rows, columns, err);
	m->layout->slices[m->layout->n_slices - 1].width = columns;
	return true;
}

static bool lay_product(struct maker *m, enum al_projection p, struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;
	const struct al_factor *factor = &a->factors[p];
	const int64_t rank = al_tucker_width(a, p, m->layout->rank);
	const char *name = al_projection_names[p];

	add_runs(m, factor, al_piece_of(p, false), 0, false);
	add_runs(m, &a->biases[p], al_piece_of(p, true), a->biases[p].width, true);
	return add_new(m, al_format(m->arena, "%s.down.weight", name), al_piece_down(p),
		       factor->rows, rank, err)
		&& add_new(m, al_format(m->arena, "%s.up.weight", name), al_piece_of(p, false),
			rank, factor->heads * factor->width, err);
}

static bool lay(struct maker *m, enum al_projection p, struct al_error *err)
{
	const struct al_module_layout *layout = m->layout;
	const struct al_factor *factor = &layout->attention->factors[p];
	const enum form form = form_of(layout, p);
	const int64_t per_head = form == NARROW ? layout->rank : factor->width;
	const int64_t columns = al_layout_shared(layout, p) * factor->width;

	switch (form) {
	case UNTOUCHED:
		return true;
	case MIXED:
		return lay_columns(m, p, false, layout->rank, err)
			&& lay_columns(m, p, true, 0, err);
	case SHARED:
		return lay_columns(m, p, false, columns, err)
			&& lay_columns(m, p, true, columns, err);
	case PRODUCT:
		return lay_product(m, p, err);
	default:
		add_runs(m, factor, al_piece_of(p, false), per_head, form == KEPT);
		if (p != AL_OUTPUT)
			add_runs(m, &layout->attention->biases[p], al_piece_of(p, true), per_head,
				form == KEPT);
		return true;
	}
}

static bool lay_mixing(struct maker *m, struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;

	return add_new(m, "mixing", AL_PIECE_MIXING, m->layout->rank, a->n_heads, err)
		&& (a->biases[AL_QUERY].n_runs == 0
			|| add_new(m, "content_bias.weight", AL_PIECE_CONTENT,
				a->factors[AL_KEY].rows, a->n_heads, err));
}

/* ---- what can't be laid out ---- */

static bool check_runs(const struct al_factor *factor, struct al_error *err)
{
	for (size_t i = 0; i < factor->n_runs; i++) {
		const struct al_tensor *tensor = factor->runs[i].tensor;
		if (factor->runs[i].width % factor->width != 0)
			return al_fail(err, AL_EINPUT, "tensor %s interleaves parts of heads",
				tensor->name);
		if (!aside_of(tensor->dtype)->from_double)
			return al_fail(err, AL_EINPUT,
				"tensor %s has dtype %s, which compress can't write", tensor->name,
				al_dtype_title(tensor->dtype));
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

static bool check(const struct al_module_layout *layout, struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	const int n = al_method_touches_all(layout->method) ? AL_N_PROJECTIONS : AL_VALUE;

	if (!al_method_check(a, layout->method, layout->of_keys, err))
		return false;
	for (int p = 0; p < n; p++)
		if (!check_runs(&a->factors[p], err))
			return false;
	if (al_method_drops(layout->method))
		return check_groups(layout, err);
	return al_method_has_rank(a, layout->method, layout->rank)
		|| al_fail(err, AL_EINPUT,
			"its %" PRId64 " key/value heads make no %" PRId64 " groups of one size",
			a->n_kv_heads, layout->rank);
}

bool al_layout_make(struct al_module_layout *out, struct al_arena *arena,
	const struct al_checkpoint *checkpoint, const struct al_module_layout *wanted,
	struct al_error *err)
{
	struct maker m = {.layout = out, .arena = arena, .checkpoint = checkpoint};

	*out = *wanted;
	out->of_keys = wanted->of_keys
		&& (wanted->method == AL_METHOD_LATENT || wanted->method == AL_METHOD_GQA);
	if (!check(out, err))
		return false;
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (!lay(&m, (enum al_projection)p, err)
			|| (p == AL_KEY && al_method_mixes(out->method) && !lay_mixing(&m, err)))
			return false;
	return true;
}

/* ---- what it holds ---- */

bool al_layout_changes(const struct al_module_layout *layout, enum al_projection p, bool is_bias)
{
	for (size_t i = 0; i < layout->n_slices; i++)
		if (layout->slices[i].piece == al_piece_of(p, is_bias)
			&& !layout->slices[i].is_kept)
			return true;
	return false;
}

struct al_head_axis al_head_axis_of(const struct al_tensor *tensor, bool is_slow)
{
	if (tensor->n_dims < 2)
		return (struct al_head_axis){1, tensor->n_elements, 1};
	return is_slow ? (struct al_head_axis){1, tensor->shape[0], tensor->shape[1]}
		       : (struct al_head_axis){tensor->shape[0], tensor->shape[1], 1};
}

int64_t al_layout_columns(const struct al_module_layout *layout, enum al_module_piece piece)
{
	int64_t n = 0;

	for (size_t i = 0; i < layout->n_slices; i++)
		n += layout->slices[i].piece == piece ? layout->slices[i].width : 0;
	return n;
}

int64_t al_layout_parameters(const struct al_module_layout *layout)
{
	int64_t n = 0;

	for (size_t i = 0; i < layout->n_slices; i++)
		n += layout->slices[i].width * layout->slices[i].rows;
	return n;
}

int64_t al_layout_weights(const struct al_module_layout *layout)
{
	static const enum al_module_piece pieces[] = {AL_PIECE_QUERY, AL_PIECE_KEY, AL_PIECE_MIXING,
		AL_PIECE_QUERY_DOWN, AL_PIECE_KEY_DOWN};
	int64_t n = 0;

	for (size_t i = 0; i < layout->n_slices; i++)
		for (size_t k = 0; k < sizeof(pieces) / sizeof(*pieces); k++)
			if (layout->slices[i].piece == pieces[k])
				n += layout->slices[i].width * layout->slices[i].rows;
	return n;
}

int64_t al_original_parameters(const struct al_attention *a, enum al_method method)
{
	const int n_projections = al_method_touches_all(method) ? AL_N_PROJECTIONS : AL_VALUE;
	int64_t n = 0;

	for (int p = 0; p < n_projections; p++)
		n += a->factors[p].heads * a->factors[p].width
			* (a->factors[p].rows + (p != AL_OUTPUT && a->biases[p].n_runs > 0));
	return n;
}

int64_t al_layout_heads(const struct al_module_layout *layout, bool of_keys)
{
	const struct al_attention *a = layout->attention;
	const int64_t heads = of_keys ? a->n_kv_heads : a->n_heads;
	int64_t n = 0;

	for (int64_t i = 0; i < heads; i++)
		n += !layout->is_dropped || !layout->is_dropped[i * a->n_heads / heads];
	return n;
}

int64_t al_layout_kv_heads(const struct al_module_layout *layout)
{
	const int64_t shared = al_layout_shared(layout, AL_KEY);

	return shared > 0 ? shared : al_layout_heads(layout, true);
}

static int64_t cached_columns(const struct al_module_layout *layout, enum al_projection p)
{
	const struct al_factor *factor = &layout->attention->factors[p];
	const enum al_module_piece pieces[] = {al_piece_down(p), al_piece_of(p, false)};

	for (int i = 0; i < 2; i++)
		if (al_layout_columns(layout, pieces[i]) > 0)
			return al_layout_columns(layout, pieces[i]);
	return factor->heads * factor->width;
}

/* Collab caches each head's content bias too, where queries have biases. */
int64_t al_layout_cached(const struct al_module_layout *layout)
{
	return cached_columns(layout, AL_KEY) + cached_columns(layout, AL_VALUE)
		+ al_layout_columns(layout, AL_PIECE_CONTENT);
}

int64_t al_original_cached(const struct al_attention *a)
{
	return a->n_kv_heads * (a->d_head + a->d_value);
}
