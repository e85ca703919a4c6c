/* The compressed file's tensors: those of the original in their order, new ones after the query
 * projection that they belong to. */
#include "compress/plan.h"

static int compare_changes(const void *a, const void *b)
{
	const struct al_slice *const *x = a, *const *y = b;

	return al_compare((*x)->first, (*y)->first);
}

static void collect(struct al_plan *plan, struct al_planned_tensor *tensor)
{
	const struct al_job *job = plan->job;

	for (size_t m = 0; m < job->n_modules; m++)
		for (size_t i = 0; i < job->modules[m].layout.n_slices; i++) {
			const struct al_slice *slice = &job->modules[m].layout.slices[i];
			if (slice->source != tensor->source || slice->is_kept)
				continue;
			tensor->is_slow = slice->is_slow;
			tensor->changes = al_grow(&plan->job->arena, tensor->changes,
				tensor->n_changes, &tensor->room, sizeof(*tensor->changes));
			tensor->changes[tensor->n_changes++] = slice;
		}
	if (tensor->n_changes > 0)
		qsort(tensor->changes, tensor->n_changes, sizeof(*tensor->changes),
			compare_changes);
}

static void add_tensor(struct al_plan *plan, struct al_tensor header,
	struct al_planned_tensor tensor)
{
	struct al_arena *arena = &plan->job->arena;

	plan->headers = al_grow(arena, plan->headers, plan->n, &plan->headers_room,
		sizeof(*plan->headers));
	plan->tensors = al_grow(arena, plan->tensors, plan->n, &plan->tensors_room,
		sizeof(*plan->tensors));
	plan->headers[plan->n] = header;
	plan->tensors[plan->n++] = tensor;
}

/* Blocks of numbers stay as they are where whole ones go and none comes. */
static bool keeps_blocks(const struct al_planned_tensor *tensor)
{
	const int64_t block = tensor->is_slow ? 1 : (int64_t)tensor->source->dtype->block_elements;
	int64_t end = 0;

	for (size_t i = 0; i < tensor->n_changes; i++) {
		const struct al_slice *change = tensor->changes[i];
		if (change->width > 0
			|| (change->first != end && (change->first % block || end % block)))
			return false;
		end = change->first + change->length;
	}
	return end % block == 0;
}

/* The shape and the format of a changed tensor. */
static void describe_changed(struct al_plan *plan, struct al_planned_tensor *tensor,
	struct al_tensor *header)
{
	const struct al_tensor *source = tensor->source;
	int64_t *shape = al_new_array(&plan->job->arena, int64_t, source->n_dims);
	const size_t axis = source->n_dims == 2 && !tensor->is_slow ? 1 : 0;

	memcpy(shape, source->shape, source->n_dims * sizeof(*shape));
	for (size_t i = 0; i < tensor->n_changes; i++)
		shape[axis] += tensor->changes[i]->width - tensor->changes[i]->length;
	header->shape = shape;
	header->n_elements = source->n_elements / source->shape[axis] * shape[axis];
	if (source->dtype->block_elements > 1 && !keeps_blocks(tensor))
		header->dtype = tensor->recoded = al_dtype_of_written_row(source->dtype,
			shape[source->n_dims - 1]);
	tensor->bytes = (uint64_t)header->n_elements / header->dtype->block_elements
		* header->dtype->block_bytes;
}

/* In a GGUF file norms, biases and routers stay as they are, as llama-quantize leaves them. */
static bool takes_dtype(const struct al_job *job, const struct al_tensor *source, bool is_apart)
{
	return job->dtype && source->dtype->to_double && source->dtype->epsilon > 0
		&& (!job->writes_gguf || (source->n_dims > 1 && !is_apart));
}

/* The format that a tensor is to have, or has in a copy that gives each tensor its own; NULL: that
 * of its source. */
static const struct al_dtype *find_format(const struct al_job *job, const struct al_tensor *source,
	bool is_apart)
{
	const struct al_tensor *written;

	if (job->options->formats)
		return job->options->formats[source - job->view->checkpoint->tensors];
	if (!job->has_formats)
		return takes_dtype(job, source, is_apart) ? job->dtype : NULL;
	written = al_checkpoint_find(job->compressed, source->name);
	return written && source->dtype->to_double && written->dtype->from_double ? written->dtype
										  : NULL;
}

static void set_dtype(const struct al_dtype *dtype, struct al_planned_tensor *tensor,
	struct al_tensor *header)
{
	header->dtype = al_dtype_of_row(dtype,
		header->n_dims > 0 ? header->shape[header->n_dims - 1] : 1);
	tensor->recoded = header->dtype == tensor->source->dtype && !tensor->recoded
		? NULL
		: header->dtype;
	tensor->bytes = (uint64_t)header->n_elements / header->dtype->block_elements
		* header->dtype->block_bytes;
}

/* A tensor of which nothing is left isn't stored. */
static void add_source(struct al_plan *plan, const struct al_tensor *source, bool is_apart)
{
	struct al_planned_tensor tensor = {.source = source, .bytes = source->bytes};
	const struct al_dtype *dtype = find_format(plan->job, source, is_apart);
	struct al_tensor header = *source;

	collect(plan, &tensor);
	if (tensor.n_changes > 0)
		describe_changed(plan, &tensor, &header);
	if (dtype)
		set_dtype(dtype, &tensor, &header);
	if (tensor.n_changes == 0 || header.n_elements > 0)
		add_tensor(plan, header, tensor);
}

static void add_new(struct al_plan *plan, const struct al_slice *slice)
{
	int64_t *shape = al_new_array(&plan->job->arena, int64_t, 2); /* a bias has one row */
	struct al_planned_tensor tensor = {.is_slow = true,
		.n_changes = 1,
		.bytes = (uint64_t)(slice->width * slice->rows) * slice->dtype->block_bytes};

	shape[0] = slice->width;
	shape[1] = slice->rows;
	tensor.changes = al_new(&plan->job->arena, const struct al_slice *);
	tensor.changes[0] = slice;
	add_tensor(plan,
		(struct al_tensor){.name = slice->name,
			.dtype = slice->dtype,
			.shape = shape,
			.n_dims = slice->rows > 1 ? 2 : 1,
			.n_elements = slice->width * slice->rows,
			.shard = slice->after->shard},
		tensor);
}

static void add_news(struct al_plan *plan, const struct al_tensor *after)
{
	const struct al_job *job = plan->job;

	for (size_t m = 0; m < job->n_modules; m++)
		for (size_t i = 0; i < job->modules[m].layout.n_slices; i++)
			if (job->modules[m].layout.slices[i].after == after)
				add_new(plan, &job->modules[m].layout.slices[i]);
}

/* Norms and routers, [n_tensors]. */
static bool *find_apart(const struct al_job *job)
{
	const struct al_checkpoint *checkpoint = job->view->checkpoint;
	const struct al_tensor_list *list = &job->view->tensor_list;
	bool *is_apart = al_new_array(&job->view->arena, bool, checkpoint->n_tensors + 1);

	for (size_t i = 0; job->dtype && i < list->n_tensors; i++) {
		const struct al_family_tensor *of = list->tensors[i].tensor;
		const struct al_tensor *tensor = al_model_view_find(job->view,
			list->tensors[i].name);
		if (tensor)
			is_apart[tensor - checkpoint->tensors] = of->role == AL_FEED_ROUTER
				|| of->entry.kind == AL_TENSOR_NORM;
	}
	return is_apart;
}

void al_plan_make(struct al_plan *plan, struct al_job *job)
{
	const struct al_checkpoint *checkpoint = job->view->checkpoint;
	const bool *is_apart = find_apart(job);

	*plan = (struct al_plan){.job = job};
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		add_source(plan, &checkpoint->tensors[i], is_apart[i]);
		add_news(plan, &checkpoint->tensors[i]);
	}
}

/* ---- runs ---- */

/* Of so many numbers, which fill whole blocks. */
static uint64_t bytes_of(const struct al_planned_tensor *tensor, int64_t n)
{
	const struct al_dtype *dtype = tensor->recoded ? al_dtype_named("f32")
						       : tensor->source->dtype;

	return (uint64_t)n / dtype->block_elements * dtype->block_bytes;
}

/* One stretch along the head axis: what stays, with what was put in between. */
static bool visit_stretch(const struct al_planned_tensor *tensor, const struct al_head_axis *axis,
	int64_t at_outer, al_visit_run *visit, void *context, struct al_error *err)
{
	const int64_t begin = at_outer * axis->length;
	int64_t at = 0;

	for (size_t i = 0; i <= tensor->n_changes; i++) {
		const struct al_slice *change = i < tensor->n_changes ? tensor->changes[i] : NULL;
		const int64_t to = change ? change->first : axis->length;
		const struct al_planned_run kept = {.is_copied = true,
			.from = bytes_of(tensor, (begin + at) * axis->inner),
			.bytes = bytes_of(tensor, (to - at) * axis->inner)};
		if (kept.bytes > 0 && !visit(context, tensor, &kept, err))
			return false;
		if (!change)
			return true;
		const int64_t n = change->width * axis->inner;
		const struct al_planned_run added = {.bytes = bytes_of(tensor, n),
			.dtype = change->dtype,
			.from = change->aside
				+ (uint64_t)(at_outer * n) * change->dtype->block_bytes};
		if (n > 0 && !visit(context, tensor, &added, err))
			return false;
		at = to + change->length;
	}
	return true;
}

bool al_planned_tensor_visit(const struct al_planned_tensor *tensor, al_visit_run *visit,
	void *context, struct al_error *err)
{
	if (!tensor->source || tensor->n_changes == 0) {
		const struct al_planned_run all = {.is_copied = tensor->source != NULL,
			.bytes = tensor->recoded ? bytes_of(tensor, tensor->source->n_elements)
						 : tensor->bytes,
			.from = tensor->source ? 0 : tensor->changes[0]->aside};
		return visit(context, tensor, &all, err);
	}
	const struct al_head_axis axis = al_head_axis_of(tensor->source, tensor->is_slow);
	for (int64_t i = 0; i < axis.outer; i++)
		if (!visit_stretch(tensor, &axis, i, visit, context, err))
			return false;
	return true;
}
