/* Runs: where the numbers of a factor are stored. */
#include "model/heads/internal.h"

/* ---- stored tensors ---- */

bool al_tensor_is_shaped(const struct al_tensor *found, const int64_t *dims, size_t n_dims)
{
	for (size_t i = 0; i < n_dims && i < found->n_dims; i++)
		if (found->shape[i] != dims[i])
			return false;
	return found->n_dims == n_dims;
}

static bool check_tensor(struct al_factor_maker *m, const struct al_stored_tensor *wanted,
	const struct al_tensor *found, struct al_error *err)
{
	struct al_arena *arena = &m->view->arena;
	int64_t shape[AL_SHAPE_DIMS + 1];
	const size_t n_dims = al_stored_shape(wanted, shape);

	if (!found)
		return al_fail(err, AL_EINPUT, "tensor %s%s is missing", m->view->prefix,
			wanted->name);
	if (!al_tensor_is_shaped(found, shape, n_dims))
		return al_fail(err, AL_EINPUT, "tensor %s is %s, expected %s", found->name,
			al_shape_text(arena, found->shape, found->n_dims),
			al_shape_text(arena, shape, n_dims));
	if (!found->dtype->to_double)
		return al_fail(err, AL_EINPUT, "tensor %s has dtype %s, which can't be converted",
			found->name, al_dtype_title(found->dtype));
	return true;
}

/* ---- scales ---- */

/* [rows, columns] of a block: the config's, a list. */
static bool read_block(struct al_factor_maker *m, int64_t block[2], struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(&m->view->settings, "block", &setting, err))
		return false;
	if (!setting || !setting->list || setting->n_list != 2)
		return al_fail(err, AL_EINPUT,
			"its scales are stored, but their block size is unknown");
	for (int i = 0; i < 2; i++) {
		block[i] = setting->list[i].integer;
		if (block[i] < 1)
			return al_fail(err, AL_EINPUT, "blocks of %lld numbers",
				(long long)block[i]);
	}
	return true;
}

/* FP8 numbers mean little without their scales: tensors whose names begin with the tensor's own. */
static const struct al_tensor *find_beside(const struct al_factor_maker *m,
	const struct al_tensor *tensor)
{
	const struct al_checkpoint *checkpoint = m->view->checkpoint;
	const size_t length = strlen(tensor->name);

	if (!tensor->dtype->needs_scale)
		return NULL;
	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if (strncmp(checkpoint->tensors[i].name, tensor->name, length) == 0
			&& checkpoint->tensors[i].name[length])
			return &checkpoint->tensors[i];
	return NULL;
}

/* Sets the run's scale, where the family names one and the checkpoint stores it. */
static bool find_scale(struct al_factor_maker *m, const struct al_stored_tensor *stored,
	struct al_factor_run *run, struct al_error *err)
{
	const struct al_tensor *beside = stored->scale ? NULL : find_beside(m, run->tensor);
	const struct al_tensor *tensor = run->tensor;
	int64_t expected[2];

	if (beside)
		return al_fail(err, AL_EINPUT,
			"%s may be the scale of tensor %s, but family %s doesn't specify that",
			beside->name, run->tensor->name, m->view->family->name);
	run->scale = stored->scale ? al_model_view_find(m->view, stored->scale) : NULL;
	if (!run->scale)
		return true;
	if (!read_block(m, run->block, err))
		return al_in(err, "tensor %s", tensor->name);
	if (tensor->n_dims != 2)
		return al_fail(err, AL_EINPUT, "tensor %s has scales, expected a matrix",
			tensor->name);
	for (int i = 0; i < 2; i++)
		expected[i] = al_divide_up(tensor->shape[i], run->block[i]);
	return check_tensor(m,
		&(struct al_stored_tensor){.name = run->scale->name,
			.n_dims = 2,
			.dims = {expected[0], expected[1]}},
		run->scale, err);
}

/* ---- runs ---- */

static void add_run(struct al_arena *arena, struct al_factor *factor, size_t *room,
	struct al_factor_run run)
{
	factor->runs = al_grow(arena, factor->runs, factor->n_runs, room, sizeof(*factor->runs));
	factor->runs[factor->n_runs++] = run;
}

/* [heads, rows, width]: a run a head. */
static void add_heads(struct al_arena *arena, struct al_factor *factor, size_t *room,
	const struct al_stored_tensor *stored, struct al_factor_run run)
{
	const int64_t rows = stored->dims[0];

	run.width = run.columns = stored->dims[1] / stored->heads;
	for (int64_t head = 0; head < stored->heads; head++) {
		run.first_row = head * rows;
		add_run(arena, factor, room, run);
	}
}

/* The runs of one of the variant's tensors. */
bool al_factor_collect_runs(struct al_factor_maker *m, const struct al_entry *entry, bool is_output,
	struct al_factor *factor, struct al_error *err)
{
	size_t room = 0;

	for (size_t i = 0; i < m->stored.n_tensors; i++) {
		const struct al_stored_tensor *stored = &m->stored.tensors[i];
		const struct al_tensor *found = NULL;
		int64_t at = 0;
		for (int64_t repeat = 0; repeat < stored->repeat; repeat++)
			for (size_t j = 0; j < stored->n_parts; at += stored->parts[j++].width) {
				if (stored->parts[j].entry != entry)
					continue;
				if (!found) {
					found = al_model_view_find(m->view, stored->name);
					if (!check_tensor(m, stored, found, err))
						return false;
				}
				/* a matrix is [out, in] or [in, out]; the head axis of W_Q, W_K,
				 * W_V is `out`, of W_O `in` */
				const bool is_deep = stored->stored->is_depthwise,
					   is_matrix = stored->n_dims == 2,
					   is_slow = is_deep
					|| (is_matrix
						&& (stored->stored->order == AL_ORDER_OUT_IN)
							!= is_output);
				struct al_factor_run run = {.tensor = found,
					.first = at,
					.width = stored->parts[j].width,
					.columns = stored->heads > 0 || is_deep
						? stored->dims[stored->n_dims - 1]
						: 0,
					.is_slow = is_slow};
				if (!find_scale(m, stored, &run, err))
					return false;
				if (stored->stored->is_apart)
					add_heads(&m->view->arena, factor, &room, stored, run);
				else
					add_run(&m->view->arena, factor, &room, run);
				factor->rows = is_deep ? stored->dims[stored->n_dims - 1]
					: is_matrix    ? stored->dims[is_slow]
						       : 1;
				factor->dtype = found->dtype;
			}
	}
	return true;
}

/* W_O isn't fused along its head axis: the run is the whole of it. */
void al_factor_take_whole(struct al_factor *factor)
{
	for (size_t i = 0; i < factor->n_runs; i++) {
		struct al_factor_run *run = &factor->runs[i];
		const int64_t columns = run->columns > 0 ? run->columns : run->tensor->shape[1];
		run->first = 0;
		run->width = run->columns == 0 && run->is_slow ? run->tensor->shape[0]
			: run->is_slow			       ? run->tensor->n_elements / columns
							       : columns;
	}
}

int64_t al_factor_columns(const struct al_factor *factor)
{
	int64_t columns = 0;

	for (size_t i = 0; i < factor->n_runs; i++)
		columns += factor->runs[i].width;
	return columns;
}
