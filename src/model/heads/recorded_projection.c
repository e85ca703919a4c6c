/* Projections as `compress` alone stores them: under other names than the family's, as products of
 * two matrices, shared by heads. Their module's record says where they are. */
#include "model/heads/internal.h"

static const struct al_recorded_projection *find_projection(const struct al_factor_maker *m,
	enum al_projection p)
{
	const struct al_recorded_shape *shape = al_view_find_shape(m->view, m->module->name);

	for (size_t i = 0; shape && i < shape->n_stored; i++)
		if (shape->stored[i].is == p)
			return &shape->stored[i];
	return NULL;
}

/* ---- out of the family's tensors ---- */

static bool has_moved(const struct al_factor_maker *m, const struct al_entry *entry)
{
	const struct al_recorded_projection *moved = NULL;

	if (entry->factor >= AL_FACTOR_QUERY && entry->factor < AL_FACTOR_OUTPUT)
		moved = find_projection(m,
			(enum al_projection)((int)entry->factor - (int)AL_FACTOR_QUERY));
	return moved && (entry->kind != AL_TENSOR_BIAS || moved->moves_bias);
}

void al_view_take_moved(struct al_factor_maker *m)
{
	for (size_t i = 0; i < m->stored.n_tensors; i++) {
		struct al_stored_tensor *stored = &m->stored.tensors[i];
		const bool is_in_out = stored->n_dims == 2
			&& stored->stored->order != AL_ORDER_OUT_IN;
		size_t n = 0;
		for (size_t j = 0; j < stored->n_parts; j++)
			if (has_moved(m, stored->parts[j].entry))
				stored->dims[is_in_out] -= stored->repeat * stored->parts[j].width;
			else
				stored->parts[n++] = stored->parts[j];
		stored->n_parts = n;
	}
}

/* ---- from their own ---- */

/* A stored tensor as the one run of a factor. */
static bool take_tensor(const struct al_factor_maker *m, const char *name, bool is_in_out,
	struct al_factor *out, struct al_error *err)
{
	const struct al_tensor *tensor = al_checkpoint_find(m->view->checkpoint, name);

	if (!tensor || tensor->n_dims < 1 || tensor->n_dims > 2 || !tensor->dtype->to_double)
		return al_fail(err, AL_EINPUT, "tensor %s, which compress recorded, is %s", name,
			tensor ? "no matrix of numbers" : "missing");
	const bool is_matrix = tensor->n_dims == 2, is_slow = is_matrix && !is_in_out;
	*out = (struct al_factor){.runs = al_new(&m->view->arena, struct al_factor_run),
		.n_runs = 1,
		.rows = is_matrix ? tensor->shape[is_slow] : 1,
		.heads = 1,
		.dtype = tensor->dtype};
	out->width = out->stride = tensor->shape[is_matrix && is_in_out];
	out->runs[0] = (struct al_factor_run){.tensor = tensor,
		.width = out->width,
		.is_slow = is_slow};
	return true;
}

/* A record is a stranger's: what it says is allocated for. */
enum { MOST_HEADS = 1 << 16 };

/* Of `width` columns from `at` on, which lie in one run. */
static bool cut_run(const struct al_factor *factor, int64_t at, int64_t width,
	struct al_factor_run *out, struct al_error *err)
{
	for (size_t i = 0; i < factor->n_runs; at -= factor->runs[i++].width) {
		*out = factor->runs[i];
		out->first += at;
		out->width = width;
		if (at >= 0 && at + width <= factor->runs[i].width)
			return true;
	}
	return al_fail(err, AL_EINPUT, "tensor %s interleaves parts of heads",
		factor->runs[0].tensor->name);
}

bool al_view_repeat(struct al_factor_maker *m, struct al_factor *factor, int64_t had, int64_t heads,
	struct al_error *err)
{
	if (factor->n_runs == 0 || had == heads)
		return true;
	const int64_t columns = al_factor_columns(factor), width = columns / had;
	if (width < 1 || width * had != columns || heads % had != 0 || heads > MOST_HEADS)
		return al_fail(err, AL_EINPUT,
			"tensor %s has %lld columns, expected %lld values for %lld heads",
			factor->runs[0].tensor->name, (long long)columns, (long long)had,
			(long long)heads);
	struct al_factor_run *runs = al_new_array(&m->view->arena, struct al_factor_run,
		(size_t)heads);
	for (int64_t i = 0; i < heads; i++)
		if (!cut_run(factor, i / (heads / had) * width, width, &runs[i], err))
			return false;
	factor->runs = runs;
	factor->n_runs = (size_t)heads;
	return true;
}

static bool take_down(struct al_factor_maker *m, const char *name, struct al_factor *factor,
	struct al_error *err)
{
	struct al_factor *down = al_new(&m->view->arena, struct al_factor);

	if (!take_tensor(m, name, false, down, err))
		return false;
	if (down->width != factor->rows)
		return al_fail(err, AL_EINPUT, "%s gives %lld columns, %s takes %lld", name,
			(long long)down->width, factor->runs[0].tensor->name,
			(long long)factor->rows);
	factor->down = down;
	factor->rows = down->rows;
	return true;
}

/* What heads that share queries and keys make of them. */
static bool take_shared(struct al_factor_maker *m, const struct al_recorded_projection *from,
	struct al_error *err)
{
	struct al_factor *one = al_new(&m->view->arena, struct al_factor);

	if (from->mixing) {
		m->out->factors[AL_QUERY].mixing = one;
		return take_tensor(m, from->mixing, true, one, err);
	}
	if (!from->content)
		return true;
	m->out->content = one;
	return take_tensor(m, from->content, false, one, err);
}

bool al_view_take_projection(struct al_factor_maker *m, enum al_projection p, bool *is_taken,
	struct al_error *err)
{
	const struct al_recorded_projection *from = find_projection(m, p);
	struct al_factor *factor = &m->out->factors[p], *bias = &m->out->biases[p];

	*is_taken = from != NULL;
	if (!from)
		return true;
	const int64_t heads = al_recorded_kv_heads(al_view_find_shape(m->view, m->module->name));
	m->out->is_rewritten = true;
	return take_tensor(m, from->weight, from->is_in_out, factor, err)
		&& (!from->bias || take_tensor(m, from->bias, false, bias, err))
		&& (from->heads == 0
			|| (al_view_repeat(m, factor, from->heads, heads, err)
				&& al_view_repeat(m, bias, from->heads, heads, err)))
		&& (!from->down || take_down(m, from->down, factor, err))
		&& take_shared(m, from, err);
}
