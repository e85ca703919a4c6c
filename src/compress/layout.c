/* How a module lies in the compressed file. */
#include "compress/layout.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

const char *const al_method_names[AL_N_METHODS] = {"collab", "tucker", "truncate", "drop"};

/* ---- what can be done ---- */

/* Projections and their biases: a variant with more (norms of queries and keys, gates, sinks) makes
 * its scores of more than W_Q W_K^T, or keeps numbers for each head. */
static const char *extra_tensor(const struct al_attention *a)
{
	static const char *const plain[] = {"W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O"};

	for (size_t i = 0; i < a->variant->tensors.n; i++) {
		const struct al_entry *entry = &a->variant->tensors.items[i];
		if (al_find_name(entry->name, plain, 8) < 0 && !entry->when)
			return entry->name;
	}
	return NULL;
}

/* Options of the variant that change its scores or hold numbers of each head. The norm that all
 * heads have in common stays where heads are left out. */
static const char *extra_option(const struct al_attention *a, enum al_method method)
{
	static const char *const known[] = {"qk_norm_wide", "gate", "head_gate", "sinks",
		"qk_norm"};
	const size_t n_known = method == AL_METHOD_DROP ? 4 : 5;

	for (size_t i = 0; i < a->n_with; i++)
		if (a->with[i].value && al_find_name(a->with[i].symbol, known, n_known) >= 0)
			return a->with[i].symbol;
	return NULL;
}

bool al_method_check(const struct al_attention *a, enum al_method method, struct al_error *err)
{
	const char *extra = extra_tensor(a);

	if (a->is_latent)
		return al_fail(err, AL_EINPUT,
			"its queries and keys are latent already (MLA), which %s "
			"doesn't treat",
			al_method_names[method]);
	if (!extra)
		extra = extra_option(a, method);
	if (extra)
		return al_fail(err, AL_EINPUT, "its variant %s has %s, which %s doesn't treat",
			a->variant->name, extra, al_method_names[method]);
	if (a->is_rotary && method != AL_METHOD_DROP)
		return al_fail(err, AL_EINPUT,
			"its queries and keys turn with their positions (rotary), so "
			"that W_Q W_K^T is the score at offset 0 alone and %s would change all "
			"others",
			al_method_names[method]);
	return true;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t al_tucker_width(const struct al_attention *a, enum al_projection p, int64_t rank)
{
	const struct al_factor *factor = &a->factors[p];

	return least(rank, least(factor->rows, factor->heads * factor->width));
}

int64_t al_method_bound(const struct al_attention *a, enum al_method method)
{
	const int64_t d_query = a->factors[AL_QUERY].rows, d_key = a->factors[AL_KEY].rows;

	switch (method) {
	case AL_METHOD_COLLAB:
		return a->n_heads * least(a->d_head, least(d_query, d_key));
	case AL_METHOD_TUCKER:
		return most(al_tucker_width(a, AL_QUERY, INT64_MAX),
			al_tucker_width(a, AL_KEY, INT64_MAX));
	default:
		return least(a->d_head, d_key);
	}
}

/* ---- parameters ---- */

int64_t al_original_parameters(const struct al_attention *a)
{
	int64_t n = 0;

	for (int p = AL_QUERY; p <= AL_KEY; p++) {
		const int64_t columns = a->factors[p].heads * a->factors[p].width;
		n += columns * (a->factors[p].rows + (a->biases[p].n_runs > 0));
	}
	return n;
}

static bool has_bias(const struct al_attention *a, enum al_projection p)
{
	return a->biases[p].n_runs > 0;
}

int64_t al_rank_parameters(const struct al_attention *a, enum al_method method, int64_t rank)
{
	const int64_t d_query = a->factors[AL_QUERY].rows, d_key = a->factors[AL_KEY].rows;
	const int64_t queries = a->n_heads * a->d_head, keys = a->n_kv_heads * a->d_head;

	switch (method) {
	case AL_METHOD_COLLAB:
		return rank * (d_query + d_key + a->n_heads)
			+ (has_bias(a, AL_QUERY) ? a->n_heads * d_key : 0);
	case AL_METHOD_TUCKER:
		return al_tucker_width(a, AL_QUERY, rank) * (d_query + queries)
			+ al_tucker_width(a, AL_KEY, rank) * (d_key + keys)
			+ (has_bias(a, AL_QUERY) ? queries : 0) + (has_bias(a, AL_KEY) ? keys : 0);
	default:
		return rank * a->n_heads * (d_query + has_bias(a, AL_QUERY))
			+ rank * a->n_kv_heads * (d_key + has_bias(a, AL_KEY));
	}
}

int64_t al_layout_heads(const struct al_layout *layout, bool of_keys)
{
	const struct al_attention *a = layout->attention;
	const int64_t heads = of_keys ? a->n_kv_heads : a->n_heads;
	int64_t n = 0;

	for (int64_t i = 0; i < heads; i++)
		n += !layout->is_dropped
			|| !layout->is_dropped[of_keys ? i * a->n_heads / a->n_kv_heads : i];
	return n;
}

int64_t al_layout_parameters(const struct al_layout *layout)
{
	const struct al_attention *a = layout->attention;

	if (layout->method != AL_METHOD_DROP)
		return al_rank_parameters(a, layout->method, layout->rank);
	const int64_t rows = a->factors[AL_QUERY].rows + has_bias(a, AL_QUERY);
	const int64_t key_rows = a->factors[AL_KEY].rows + has_bias(a, AL_KEY);
	return a->d_head
		* (al_layout_heads(layout, false) * rows
			+ al_layout_heads(layout, true) * key_rows);
}

/* ---- slices ---- */

struct maker {
	struct al_layout *layout;
	struct al_arena *arena;
	const struct al_checkpoint *checkpoint;
};

static struct al_slice *add(struct maker *m, struct al_slice slice)
{
	struct al_layout *out = m->layout;

	out->slices = al_grow(m->arena, out->slices, out->n_slices, &out->room,
		sizeof(*out->slices));
	out->slices[out->n_slices] = slice;
	return &out->slices[out->n_slices++];
}

/* Stored whole in one tensor that holds nothing else. */
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

static bool add_new(struct maker *m, const char *name, enum al_piece piece, int64_t rows,
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
static void replace_runs(struct maker *m, const struct al_factor *factor, enum al_piece piece,
	int64_t per_head)
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
				tensor->name, tensor->dtype->stored);
	}
	return true;
}

static void keep_runs(struct maker *m, const struct al_factor *factor, enum al_piece piece)
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
	const enum al_piece piece = (enum al_piece)p;

	replace_runs(m, bias, (enum al_piece)(AL_PIECE_QUERY_BIAS + p), 0);
	if (!is_alone(factor)) {
		replace_runs(m, factor, piece, 0);
		return add_new(m, name, piece, factor->rows, rank, err);
	}
	replace_runs(m, factor, piece, 0);
	m->layout->slices[m->layout->n_slices - 1].width = rank;
	return true;
}

static bool lay_collab(struct maker *m, struct al_error *err)
{
	const struct al_attention *a = m->layout->attention;
	const int64_t rank = m->layout->rank;

	return share(m, AL_QUERY, "query.weight", rank, err)
		&& share(m, AL_KEY, "key.weight", rank, err)
		&& add_new(m, "mixing", AL_PIECE_MIXING, rank, a->n_heads, err)
		&& (!has_bias(a, AL_QUERY)
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
		replace_runs(m, factor, (enum al_piece)p, 0);
		keep_runs(m, &m->layout->attention->biases[p],
			(enum al_piece)(AL_PIECE_QUERY_BIAS + p));
		if (!add_new(m, names[p][0], (enum al_piece)(AL_PIECE_QUERY_DOWN + p), factor->rows,
			    rank, err)
			|| !add_new(m, names[p][1], (enum al_piece)p, rank,
				factor->heads * factor->width, err))
			return false;
	}
	return true;
}

static bool lay_truncate(struct maker *m, struct al_error *err)
{
	(void)err;
	for (int p = AL_QUERY; p <= AL_KEY; p++) {
		replace_runs(m, &m->layout->attention->factors[p], (enum al_piece)p,
			m->layout->rank);
		replace_runs(m, &m->layout->attention->biases[p],
			(enum al_piece)(AL_PIECE_QUERY_BIAS + p), m->layout->rank);
	}
	return true;
}

/* A key/value head goes when all its query heads do. */
static bool check_groups(const struct al_layout *layout, struct al_error *err)
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
static void drop_heads(struct maker *m, const struct al_factor *factor, enum al_piece piece)
{
	const struct al_attention *a = m->layout->attention;
	int64_t head = 0, column = 0;

	for (size_t i = 0; i < factor->n_runs; i++) {
		const struct al_factor_run *run = &factor->runs[i];
		for (int64_t at = 0; at < run->width; at += factor->width, head++) {
			const bool is_kept =
				!m->layout->is_dropped[head * a->n_heads / factor->heads];
			add(m,
				(struct al_slice){.source = run->tensor,
					.is_slow = run->is_slow,
					.first = run->first + at,
					.length = factor->width,
					.is_kept = is_kept,
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
		drop_heads(m, &a->factors[p], (enum al_piece)p);
		if (p != AL_OUTPUT)
			drop_heads(m, &a->biases[p], (enum al_piece)(AL_PIECE_QUERY_BIAS + p));
	}
	return true;
}

bool al_layout_make(struct al_layout *out, struct al_arena *arena,
	const struct al_checkpoint *checkpoint, const struct al_attention *attention,
	enum al_method method, int64_t rank, const bool *is_dropped, struct al_error *err)
{
	static bool (*const methods[])(struct maker *, struct al_error *) = {lay_collab, lay_tucker,
		lay_truncate, lay_drop};
	struct maker m = {.layout = out, .arena = arena, .checkpoint = checkpoint};

	*out = (struct al_layout){.attention = attention,
		.method = method,
		.rank = rank,
		.is_dropped = is_dropped};
	return al_method_check(attention, method, err)
		&& check_runs(&attention->factors[AL_QUERY], err)
		&& check_runs(&attention->factors[AL_KEY], err) && methods[method](&m, err);
}

/* ---- reading back ---- */

struct al_head_axis al_head_axis_of(const struct al_tensor *tensor, bool is_slow)
{
	if (tensor->n_dims < 2)
		return (struct al_head_axis){1, tensor->n_elements, 1};
	return is_slow ? (struct al_head_axis){1, tensor->shape[0], tensor->shape[1]}
		       : (struct al_head_axis){tensor->shape[0], tensor->shape[1], 1};
}

/* Where a slice lies in the new tensor, and how long that one's head axis is. */
static int64_t place(const struct al_layout *layout, const struct al_slice *slice, int64_t *length)
{
	int64_t at = slice->first;

	*length = slice->source ? al_head_axis_of(slice->source, slice->is_slow).length
				: slice->width;
	for (size_t i = 0; slice->source && i < layout->n_slices; i++) {
		const struct al_slice *other = &layout->slices[i];
		if (other->source != slice->source)
			continue;
		*length += other->width - other->length;
		if (other->first < slice->first)
			at += other->width - other->length;
	}
	return at;
}

static bool find_stored(const struct al_layout *layout, const struct al_slice *slice,
	const struct al_checkpoint *compressed, const struct al_tensor **out, int64_t *at,
	struct al_error *err)
{
	const char *name = slice->source ? slice->source->name : slice->name;
	const struct al_tensor *found = al_checkpoint_find(compressed, name);
	int64_t length;

	*at = place(layout, slice, &length);
	*out = found;
	if (!found)
		return al_fail(err, AL_EINPUT, "%s: tensor %s is missing", compressed->path, name);
	struct al_head_axis axis = al_head_axis_of(found, slice->is_slow);
	if (found->n_dims > 2 || axis.length != length || axis.outer * axis.inner != slice->rows)
		return al_fail(err, AL_EINPUT,
			"%s: tensor %s has %" PRId64 " x %" PRId64 " numbers, expected %" PRId64
			" x %" PRId64,
			compressed->path, name, axis.length, axis.outer * axis.inner, length,
			slice->rows);
	if (!found->dtype->to_double)
		return al_fail(err, AL_EINPUT, "%s: tensor %s is of %s, which is not converted",
			compressed->path, name, found->dtype->stored);
	return true;
}

static bool read_slice(const struct al_layout *layout, const struct al_slice *slice,
	const struct al_checkpoint *compressed, struct al_matrix out, struct al_error *err)
{
	const struct al_tensor *tensor;
	int64_t at;

	if (!find_stored(layout, slice, compressed, &tensor, &at, err))
		return false;
	struct al_factor_run run = {.tensor = tensor,
		.first = at,
		.width = slice->width,
		.is_slow = slice->is_slow};
	struct al_factor factor = {.runs = &run,
		.n_runs = 1,
		.rows = slice->rows,
		.heads = 1,
		.width = slice->width,
		.stride = slice->width,
		.dtype = tensor->dtype};
	return al_factor_read(compressed, &factor, 0, 1,
		al_part(out, 0, (size_t)slice->column, out.rows, (size_t)slice->width), err);
}

bool al_layout_read(const struct al_layout *layout, const struct al_checkpoint *compressed,
	enum al_piece piece, struct al_matrix *out, struct al_error *err)
{
	int64_t rows = 0, columns = 0;

	*out = (struct al_matrix){0};
	for (size_t i = 0; i < layout->n_slices; i++)
		if (layout->slices[i].piece == piece && layout->slices[i].width > 0) {
			rows = layout->slices[i].rows;
			columns += layout->slices[i].width;
		}
	if (columns == 0)
		return true;
	if (!al_matrix_init(out, (size_t)rows, (size_t)columns, err))
		return false;
	for (size_t i = 0; i < layout->n_slices; i++) {
		const struct al_slice *slice = &layout->slices[i];
		if (slice->piece != piece || slice->width == 0
			|| read_slice(layout, slice, compressed, *out, err))
			continue;
		al_matrix_finish(out);
		return false;
	}
	return true;
}
