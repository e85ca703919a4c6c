/* Writing the compressed checkpoint: one file of it. */
#include "compress/plan.h"

#include "formats/safetensors.h"

enum { BLOCK_BYTES = 512 << 10 };

/* ---- numbers in the stored format ---- */

/* In the slice's order: column by column where the head axis is slow, else row by row. */
static void arrange(const struct al_slice *slice, struct al_view columns, double *out)
{
	for (size_t j = 0; j < columns.cols; j++)
		for (size_t i = 0; i < columns.rows; i++)
			out[slice->is_slow ? j * columns.rows + i : i * columns.cols + j] =
				columns.data[i + j * columns.ld];
}

static bool encode(struct al_job *job, struct al_slice *slice, struct al_view columns,
	struct al_error *err)
{
	const size_t n = columns.rows * columns.cols, bytes = slice->dtype->block_bytes;
	AL_FREED double *values = al_try_calloc(n, sizeof(*values) + bytes, err);

	if (!values)
		return al_in(err, "%zu numbers", n);
	void *stored = values + n;
	arrange(slice, columns, values);
	slice->dtype->from_double(values, n, stored);
	slice->dtype->to_double(stored, n, values);
	if (!al_is_finite((struct al_view){values, n, 1, n}))
		return al_fail(err, AL_ESYSTEM, "%s can't represent the new values of tensor %s",
			slice->dtype->stored, slice->source ? slice->source->name : slice->name);
	return al_spill_put(&job->aside, stored, n * bytes, &slice->aside, err);
}

bool al_job_encode(struct al_job *job, struct al_job_module *module, struct al_error *err)
{
	struct al_module_layout *layout = &module->layout;

	for (size_t i = 0; i < layout->n_slices; i++) {
		struct al_slice *slice = &layout->slices[i];
		if (slice->width == 0 || slice->is_kept)
			continue;
		struct al_view columns = al_columns(al_view(module->pieces.of[slice->piece]),
			(size_t)slice->column, (size_t)slice->width);
		if (!encode(job, slice, columns, err))
			return false;
	}
	return true;
}

/* ---- data ---- */

/* Numbers that a recoded tensor's blocks are made of. */
enum { NUMBERS = 64 * AL_MOST_BLOCK_ELEMENTS };

struct copy {
	const struct al_job *job;
	struct al_tensor_writer *writer;
	unsigned char *block; /* [BLOCK_BYTES] */
	double *numbers, *weights; /* [NUMBERS], of a recoded tensor: the first n wait */
	size_t n, column; /* that of the first one */
};

static bool write_bytes(struct copy *copy, const struct al_planned_tensor *tensor,
	const struct al_planned_run *run, struct al_error *err)
{
	const struct al_job *job = copy->job;

	for (uint64_t done = 0; done < run->bytes;) {
		const uint64_t left = run->bytes - done, from = run->from + done;
		const size_t now = (size_t)al_least(left, BLOCK_BYTES);
		if (!(run->is_copied ? al_tensor_read_bytes(job->view->checkpoint, tensor->source,
			      from, copy->block, now, err)
				     : al_spill_get(&job->aside, from, copy->block, now, err))
			|| !al_tensor_writer_append(copy->writer, copy->block, now, err))
			return false;
		done += now;
	}
	return true;
}

static bool flush(struct copy *copy, const struct al_planned_tensor *tensor, struct al_error *err)
{
	const size_t n = copy->n;

	copy->n = 0;
	for (size_t i = 0; tensor->weights && i < n; i++) {
		copy->weights[i] = tensor->weights[copy->column++];
		copy->column %= tensor->n_weights;
	}
	return n == 0
		|| al_tensor_writer_append_weighted(copy->writer, tensor->recoded, copy->numbers,
			tensor->weights ? copy->weights : NULL, n, err);
}

/* The next numbers of a run, behind `done` of them. */
static bool read_numbers(const struct copy *copy, const struct al_planned_tensor *tensor,
	const struct al_planned_run *run, uint64_t done, size_t n, struct al_error *err)
{
	const struct al_job *job = copy->job;
	const struct al_selection selection = {.first = (int64_t)(run->from / sizeof(float) + done),
		.run = (int64_t)n,
		.n_runs = 1};
	double *numbers = copy->numbers + copy->n;

	if (run->is_copied)
		return al_tensor_read_double(job->view->checkpoint, tensor->source, &selection,
			numbers, n, err);
	const size_t bytes = run->dtype->block_bytes;
	if (!al_spill_get(&job->aside, run->from + done * bytes, copy->block, n * bytes, err))
		return false;
	run->dtype->to_double(copy->block, n, numbers);
	return true;
}

static bool write_numbers(struct copy *copy, const struct al_planned_tensor *tensor,
	const struct al_planned_run *run, struct al_error *err)
{
	const uint64_t n = run->bytes / sizeof(float);

	for (uint64_t done = 0; done < n;) {
		const size_t room = NUMBERS - copy->n;
		const size_t now = (size_t)al_least(n - done, room);
		if (!read_numbers(copy, tensor, run, done, now, err))
			return false;
		copy->n += now;
		done += now;
		if (copy->n == NUMBERS && !flush(copy, tensor, err))
			return false;
	}
	return true;
}

static bool write_run(void *context, const struct al_planned_tensor *tensor,
	const struct al_planned_run *run, struct al_error *err)
{
	return (tensor->recoded ? write_numbers : write_bytes)(context, tensor, run, err);
}

/* The tensors of a shard, or of all; they are in the order of their shards. */
struct part {
	size_t first, n;
};

static struct part part_of(const struct al_plan *plan, size_t shard)
{
	struct part part = {0};

	if (shard == AL_ALL_SHARDS)
		return (struct part){0, plan->n};
	while (part.first < plan->n && plan->headers[part.first].shard < shard)
		part.first++;
	while (part.first + part.n < plan->n && plan->headers[part.first + part.n].shard == shard)
		part.n++;
	return part;
}

static bool write_tensors(const struct al_plan *plan, struct part part,
	struct al_tensor_writer *writer, struct al_error *err)
{
	AL_FREED unsigned char *block = al_alloc(BLOCK_BYTES, 1);
	AL_FREED double *numbers = al_alloc(2 * NUMBERS, sizeof(*numbers));
	struct copy copy = {plan->job, writer, block, numbers, numbers + NUMBERS, 0, 0};
	bool ok = true;

	for (size_t i = part.first; ok && i < part.first + part.n; copy.column = 0, i++)
		ok = al_planned_tensor_visit(&plan->tensors[i], write_run, &copy, err)
			&& flush(&copy, &plan->tensors[i], err)
			&& al_tensor_writer_align(writer, err);
	return ok;
}

static bool create_safetensors(const struct al_plan *plan, size_t shard, struct part part,
	const char *config, const char *path, struct al_tensor_writer **out, struct al_error *err)
{
	size_t n;
	const struct al_metadata *metadata = al_job_metadata(plan->job, shard, config, &n);

	return al_safetensors_create(out, path, plan->headers + part.first, part.n, metadata, n,
		err);
}

bool al_plan_write(const struct al_plan *plan, size_t shard, const char *config, const char *path,
	struct al_tensor_writer **out, struct al_error *err)
{
	const struct part part = part_of(plan, shard);

	if (!(plan->job->writes_gguf
			    ? al_plan_create_gguf(plan, path, out, err)
			    : create_safetensors(plan, shard, part, config, path, out, err)))
		return false;
	if (write_tensors(plan, part, *out, err))
		return true;
	al_tensor_writer_abandon(*out);
	return false;
}
