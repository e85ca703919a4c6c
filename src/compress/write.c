/* Writing the compressed checkpoint: tensors in the order of the original, new ones after the
 * query projection that they belong to. */
#include "compress/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "checkpoint/safetensors.h"

enum { BLOCK_BYTES = 512 << 10 };

/* ---- before the work ---- */

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return a && stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev
		&& first.st_ino == second.st_ino;
}

bool al_job_check_output(const struct al_job *job, const char *path, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = job->view->checkpoint;
	bool is_input = is_same_file(checkpoint->index, path)
		|| is_same_file(checkpoint->config, path);
	struct al_output *output;

	for (size_t i = 0; i < checkpoint->n_shards; i++)
		is_input = is_input || is_same_file(checkpoint->shards[i].source.path, path);
	if (is_input)
		return al_fail(err, AL_EINPUT, "%s: is a file of the input, expected another one",
			path);
	if (!al_output_open(&output, path, err))
		return false;
	al_output_abandon(output);
	return true;
}

/* ---- numbers in the stored format ---- */

/* In the slice's order: column by column where the head axis is slow, else row by row. */
static void arrange(const struct al_slice *slice, struct al_view columns, double *out)
{
	for (size_t j = 0; j < columns.cols; j++)
		for (size_t i = 0; i < columns.rows; i++)
			out[slice->is_slow ? j * columns.rows + i : i * columns.cols + j] =
				columns.data[i + j * columns.ld];
}

static bool encode(struct al_job *job, const struct al_slice *slice, struct al_view columns,
	unsigned char **out, struct al_error *err)
{
	const size_t n = columns.rows * columns.cols;
	double *values = al_try_calloc(n, sizeof(*values), err);

	if (!values)
		return al_in(err, "%zu numbers", n);
	arrange(slice, columns, values);
	*out = al_arena_alloc(&job->arena, n, slice->dtype->block_bytes);
	slice->dtype->from_double(values, n, *out);
	slice->dtype->to_double(*out, n, values);
	bool ok = al_is_finite((struct al_view){values, n, 1, n});
	free(values);
	return ok
		|| al_fail(err, AL_ESYSTEM, "%s can't hold the new numbers of tensor %s",
			slice->dtype->stored, slice->source ? slice->source->name : slice->name);
}

bool al_job_encode(struct al_job *job, struct al_job_module *module, const struct al_pieces *pieces,
	struct al_error *err)
{
	struct al_layout *layout = &module->layout;

	module->bytes = al_new_array(&job->arena, unsigned char *, layout->n_slices);
	for (size_t i = 0; i < layout->n_slices; i++) {
		const struct al_slice *slice = &layout->slices[i];
		if (slice->width == 0 || slice->is_kept)
			continue;
		struct al_view columns = al_columns(al_view(pieces->of[slice->piece]),
			(size_t)slice->column, (size_t)slice->width);
		if (!encode(job, slice, columns, &module->bytes[i], err))
			return false;
	}
	return true;
}

/* ---- the tensors of the new file ---- */

struct change {
	const struct al_slice *slice;
	const unsigned char *bytes;
};

struct new_tensor {
	const struct al_tensor *source; /* NULL: new, all of it in one change */
	bool is_slow;
	struct change *changes; /* by their place along the source's head axis */
	size_t n_changes, room;
};

struct new_file {
	struct al_job *job;
	struct al_tensor *headers;
	struct new_tensor *tensors; /* beside headers */
	size_t n, headers_room, tensors_room;
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->slice->first < y->slice->first ? -1 : x->slice->first > y->slice->first;
}

static void collect(struct new_file *file, struct new_tensor *tensor)
{
	const struct al_job *job = file->job;

	for (size_t m = 0; m < job->n_modules; m++)
		for (size_t i = 0; i < job->modules[m].layout.n_slices; i++) {
			const struct al_slice *slice = &job->modules[m].layout.slices[i];
			if (slice->source != tensor->source || slice->is_kept)
				continue;
			tensor->is_slow = slice->is_slow;
			tensor->changes = al_grow(&file->job->arena, tensor->changes,
				tensor->n_changes, &tensor->room, sizeof(*tensor->changes));
			tensor->changes[tensor->n_changes++] = (struct change){slice,
				job->modules[m].bytes[i]};
		}
	if (tensor->n_changes > 0)
		qsort(tensor->changes, tensor->n_changes, sizeof(*tensor->changes),
			compare_changes);
}

static void add_tensor(struct new_file *file, struct al_tensor header, struct new_tensor tensor)
{
	struct al_arena *arena = &file->job->arena;

	file->headers = al_grow(arena, file->headers, file->n, &file->headers_room,
		sizeof(*file->headers));
	file->tensors = al_grow(arena, file->tensors, file->n, &file->tensors_room,
		sizeof(*file->tensors));
	file->headers[file->n] = header;
	file->tensors[file->n++] = tensor;
}

/* A tensor of which nothing is left isn't stored. */
static void add_source(struct new_file *file, const struct al_tensor *source)
{
	struct new_tensor tensor = {.source = source};
	struct al_tensor header = *source;
	int64_t change = 0;

	collect(file, &tensor);
	for (size_t i = 0; i < tensor.n_changes; i++)
		change += tensor.changes[i].slice->width - tensor.changes[i].slice->length;
	if (tensor.n_changes > 0) {
		int64_t *shape = al_new_array(&file->job->arena, int64_t, source->n_dims);
		const size_t axis = source->n_dims == 2 && !tensor.is_slow ? 1 : 0;
		memcpy(shape, source->shape, source->n_dims * sizeof(*shape));
		shape[axis] += change;
		if (shape[axis] == 0)
			return;
		header.shape = shape;
	}
	add_tensor(file, header, tensor);
}

static void add_new(struct new_file *file, const struct al_slice *slice, const unsigned char *bytes)
{
	int64_t *shape = al_new_array(&file->job->arena, int64_t, 2);
	struct new_tensor tensor = {.is_slow = true, .n_changes = 1};

	shape[0] = slice->width;
	shape[1] = slice->rows;
	tensor.changes = al_new(&file->job->arena, struct change);
	tensor.changes[0] = (struct change){slice, bytes};
	add_tensor(file,
		(struct al_tensor){.name = slice->name,
			.dtype = slice->dtype,
			.shape = shape,
			.n_dims = 2,
			.n_elements = slice->width * slice->rows},
		tensor);
}

static void add_news(struct new_file *file, const struct al_tensor *after)
{
	const struct al_job *job = file->job;

	for (size_t m = 0; m < job->n_modules; m++)
		for (size_t i = 0; i < job->modules[m].layout.n_slices; i++)
			if (job->modules[m].layout.slices[i].after == after)
				add_new(file, &job->modules[m].layout.slices[i],
					job->modules[m].bytes[i]);
}

static void list_tensors(struct new_file *file)
{
	const struct al_checkpoint *checkpoint = file->job->view->checkpoint;

	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		add_source(file, &checkpoint->tensors[i]);
		add_news(file, &checkpoint->tensors[i]);
	}
}

/* ---- metadata ---- */

static void describe_dropped(struct al_text *out, const struct al_layout *layout)
{
	const char *comma = "";

	al_text_add(out, ", \"dropped\": [");
	for (int64_t i = 0; i < layout->attention->n_heads; i++)
		if (layout->is_dropped[i]) {
			al_text_addf(out, "%s%" PRId64, comma, i);
			comma = ", ";
		}
	al_text_add(out, "]");
}

static void describe_modules(const struct al_job *job, struct al_text *out)
{
	al_text_add(out, "[");
	for (size_t m = 0; m < job->n_modules; m++) {
		const struct al_job_module *module = &job->modules[m];
		al_text_addf(out, "%s{\"module\": \"%s\"", m ? ", " : "",
			module->layout.attention->name);
		if (module->layout.method == AL_METHOD_DROP)
			describe_dropped(out, &module->layout);
		else
			al_text_addf(out, ", \"rank\": %" PRId64, module->layout.rank);
		al_text_addf(out,
			", \"parameters\": %" PRId64
			", \"relative_error\": %.9g, \"scale\": %.17g}",
			module->parameters, module->relative_error, module->scale);
	}
	al_text_add(out, "]");
}

static bool is_ours(const char *key)
{
	return strncmp(key, "attnledger", 10) == 0;
}

static bool is_listed(const struct al_metadata *list, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].key, key) == 0)
			return true;
	return false;
}

/* What the original says of itself, and what was done. */
static struct al_metadata *make_metadata(struct al_job *job, uint64_t source, size_t *n)
{
	enum { OURS = 6 };
	const struct al_checkpoint *checkpoint = job->view->checkpoint;
	struct al_metadata *list = al_new_array(&job->arena, struct al_metadata,
		checkpoint->n_metadata + OURS);
	struct al_text modules;

	*n = 0;
	for (size_t i = 0; i < checkpoint->n_metadata; i++)
		if (!is_ours(checkpoint->metadata[i].key)
			&& !is_listed(list, *n, checkpoint->metadata[i].key))
			list[(*n)++] = checkpoint->metadata[i];
	al_text_init(&modules);
	describe_modules(job, &modules);
	const struct al_metadata ours[OURS] = {
		{.key = "attnledger", .value = al_version()},
		{.key = "attnledger.method", .value = al_method_names[job->options->method]},
		{.key = "attnledger.source",
			.value = al_format(&job->arena, "fnv1a %016" PRIx64, source)},
		{.key = "attnledger.family", .value = job->view->family->name},
		{.key = "attnledger.scale",
			.value = job->options->for_epfml
				? "1/sqrt(R/n_heads), folded into mixing and content_bias"
				: "as in the original, whatever the width is"},
		{.key = "attnledger.modules", .value = al_strdup(&job->arena, modules.data)},
	};
	memcpy(list + *n, ours, sizeof(ours));
	*n += OURS;
	al_text_finish(&modules);
	return list;
}

/* ---- data ---- */

static bool copy_bytes(struct new_file *file, struct al_safetensors_writer *writer,
	const struct al_tensor *source, uint64_t first, uint64_t length, unsigned char *block,
	struct al_error *err)
{
	while (length > 0) {
		const size_t now = length < BLOCK_BYTES ? (size_t)length : BLOCK_BYTES;
		if (!al_tensor_read_bytes(file->job->view->checkpoint, source, first, block, now,
			    err)
			|| !al_safetensors_append(writer, block, now, err))
			return false;
		first += now;
		length -= now;
	}
	return true;
}

/* For each index of the axes outside of the head axis: the bytes that stay, and the new bytes
 * between them. */
static bool write_changed(struct new_file *file, struct al_safetensors_writer *writer,
	const struct new_tensor *tensor, unsigned char *block, struct al_error *err)
{
	const struct al_head_axis axis = al_head_axis_of(tensor->source, tensor->is_slow);
	const uint64_t unit = (uint64_t)axis.inner * tensor->source->dtype->block_bytes;

	for (int64_t outer = 0; outer < axis.outer; outer++) {
		const uint64_t begin = (uint64_t)(outer * axis.length) * unit;
		int64_t at = 0;
		for (size_t i = 0; i <= tensor->n_changes; i++) {
			const struct al_slice *slice = i < tensor->n_changes
				? tensor->changes[i].slice
				: NULL;
			const int64_t to = slice ? slice->first : axis.length;
			if (!copy_bytes(file, writer, tensor->source, begin + (uint64_t)at * unit,
				    (uint64_t)(to - at) * unit, block, err))
				return false;
			if (!slice)
				break;
			const size_t bytes = (size_t)((uint64_t)slice->width * unit);
			if (bytes > 0
				&& !al_safetensors_append(writer,
					tensor->changes[i].bytes + (size_t)outer * bytes, bytes,
					err))
				return false;
			at = to + slice->length;
		}
	}
	return true;
}

static bool write_tensors(struct new_file *file, struct al_safetensors_writer *writer,
	struct al_error *err)
{
	unsigned char *block = al_alloc(BLOCK_BYTES, 1);
	bool ok = true;

	for (size_t i = 0; ok && i < file->n; i++) {
		const struct new_tensor *tensor = &file->tensors[i];
		if (!tensor->source)
			ok = al_safetensors_append(writer, tensor->changes[0].bytes,
				(size_t)file->headers[i].n_elements
					* file->headers[i].dtype->block_bytes,
				err);
		else if (tensor->n_changes == 0)
			ok = copy_bytes(file, writer, tensor->source, 0, tensor->source->bytes,
				block, err);
		else
			ok = write_changed(file, writer, tensor, block, err);
	}
	free(block);
	return ok;
}

bool al_job_write(struct al_job *job, const char *path, struct al_error *err)
{
	struct new_file file = {.job = job};
	struct al_safetensors_writer *writer;
	uint64_t source;
	size_t n_metadata;

	if (!al_checkpoint_hash(job->view->checkpoint, &source, err))
		return false;
	list_tensors(&file);
	const struct al_metadata *metadata = make_metadata(job, source, &n_metadata);
	if (!al_safetensors_create(&writer, path, file.headers, file.n, metadata, n_metadata, err))
		return false;
	if (write_tensors(&file, writer, err))
		return al_safetensors_commit(writer, err);
	al_safetensors_abandon(writer);
	return false;
}
