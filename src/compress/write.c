/* Writing the compressed checkpoint. */
#include "compress/plan.h"

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
		al_text_addf(out, "%s{\"module\": ", m ? ", " : "");
		al_json_quote(out, module->layout.attention->name);
		if (module->layout.method == AL_METHOD_DROP)
			describe_dropped(out, &module->layout);
		else
			al_text_addf(out, ", \"rank\": %" PRId64, module->layout.rank);
		if (module->layout.is_refitted)
			al_text_add(out, ", \"refitted\": true");
		if (module->layout.of_keys)
			al_text_add(out, ", \"of_keys\": true");
		al_text_addf(out,
			", \"parameters\": %" PRId64
			", \"relative_error\": %.9g, \"scale\": %.17g}",
			module->parameters, module->relative_error, module->scale);
	}
	al_text_add(out, "]");
}

/* Divided by, not multiplied: a whole number, but where a scale is folded in. */
static void describe_shape(struct al_text *out, const struct al_attention *a,
	const struct al_layout *layout)
{
	const enum al_method method = layout ? layout->method : AL_METHOD_DROP;
	const bool is_dropped = layout && method == AL_METHOD_DROP;

	al_text_add(out, "{\"module\": ");
	al_json_quote(out, a->name);
	al_text_addf(out, ", \"n_heads\": %" PRId64,
		is_dropped ? al_layout_heads(layout, false) : a->n_heads);
	if (method == AL_METHOD_COLLAB)
		al_text_addf(out, ", \"d_shared\": %" PRId64, layout->rank);
	else
		al_text_addf(out, ", \"n_kv_heads\": %" PRId64 ", \"d_head\": %" PRId64,
			is_dropped ? al_layout_heads(layout, true) : a->n_kv_heads,
			method == AL_METHOD_TRUNCATE ? layout->rank : a->d_head);
	al_text_addf(out, ", \"d_value\": %" PRId64 ", \"score_divisor\": %" PRId64 "}", a->d_value,
		a->score_divisor);
}

static const struct al_layout *layout_of(const struct al_job *job, const struct al_attention *a)
{
	for (size_t m = 0; m < job->n_modules; m++)
		if (job->modules[m].layout.attention == a)
			return &job->modules[m].layout;
	return NULL;
}

/* Of every module, so that what an earlier compression did to others is not lost. */
static void describe_shapes(const struct al_job *job, struct al_text *out)
{
	al_text_add(out, "[");
	for (size_t i = 0; i < job->view->n_modules; i++) {
		const struct al_attention *a = &job->view->modules[i];
		if (a->is_latent)
			continue;
		al_text_add(out, out->length > 1 ? ", " : "");
		describe_shape(out, a, layout_of(job, a));
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
	enum { OURS = 7 };
	const struct al_checkpoint *checkpoint = job->view->checkpoint;
	struct al_metadata *list = al_new_array(&job->arena, struct al_metadata,
		checkpoint->n_metadata + OURS);
	struct al_text modules, shapes;

	*n = 0;
	for (size_t i = 0; i < checkpoint->n_metadata; i++)
		if (!is_ours(checkpoint->metadata[i].key)
			&& !is_listed(list, *n, checkpoint->metadata[i].key))
			list[(*n)++] = checkpoint->metadata[i];
	al_text_init(&modules);
	al_text_init(&shapes);
	describe_modules(job, &modules);
	describe_shapes(job, &shapes);
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
		{.key = "attnledger.shapes", .value = al_strdup(&job->arena, shapes.data)},
	};
	memcpy(list + *n, ours, sizeof(ours));
	*n += OURS;
	al_text_finish(&modules);
	al_text_finish(&shapes);
	return list;
}

/* ---- data ---- */

struct copy {
	const struct al_checkpoint *source;
	struct al_safetensors_writer *writer;
	unsigned char *block; /* [BLOCK_BYTES] */
};

static bool write_run(void *context, const struct al_planned_tensor *tensor,
	const struct al_planned_run *run, struct al_error *err)
{
	const struct copy *copy = context;

	if (!run->is_copied)
		return al_safetensors_append(copy->writer, run->new_bytes, (size_t)run->bytes, err);
	for (uint64_t done = 0; done < run->bytes;) {
		const uint64_t left = run->bytes - done;
		const size_t now = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
		if (!al_tensor_read_bytes(copy->source, tensor->source, run->from + done,
			    copy->block, now, err)
			|| !al_safetensors_append(copy->writer, copy->block, now, err))
			return false;
		done += now;
	}
	return true;
}

static bool write_tensors(const struct al_plan *plan, struct al_safetensors_writer *writer,
	struct al_error *err)
{
	struct copy copy = {plan->job->view->checkpoint, writer, al_alloc(BLOCK_BYTES, 1)};
	bool ok = true;

	for (size_t i = 0; ok && i < plan->n; i++)
		ok = al_planned_tensor_visit(&plan->tensors[i], write_run, &copy, err);
	free(copy.block);
	return ok;
}

/* ---- the file ---- */

static uint64_t planned_bytes(const struct al_tensor *header)
{
	uint64_t n = 1;

	for (size_t i = 0; i < header->n_dims; i++)
		n *= (uint64_t)header->shape[i];
	return n / header->dtype->block_elements * header->dtype->block_bytes;
}

/* Ranks may be so large that there is nothing to gain. */
static bool check_gain(const struct al_plan *plan, struct al_error *err)
{
	const struct al_checkpoint *source = plan->job->view->checkpoint;
	uint64_t before = 0, after = 0;

	for (size_t i = 0; i < source->n_tensors; i++)
		before += source->tensors[i].bytes;
	for (size_t i = 0; i < plan->n; i++)
		after += planned_bytes(&plan->headers[i]);
	return after < before || !plan->job->options->must_gain
		|| al_fail(err, AL_EINPUT,
			"the result would hold %" PRIu64
			" bytes of tensors, the source holds %" PRIu64
			": choose smaller ranks, or --force",
			after, before);
}

static bool put_in_place(struct al_job *job, struct al_safetensors_writer *writer, const char *path,
	struct al_error *err)
{
	const struct al_compress_options *options = job->options;
	const char *written = al_safetensors_written(writer);

	if (!options->check || options->check(options->context, written ? written : path, err))
		return al_safetensors_commit(writer, err);
	al_safetensors_abandon(writer);
	return false;
}

bool al_job_write(struct al_job *job, const char *path, struct al_error *err)
{
	struct al_plan plan;
	struct al_safetensors_writer *writer;
	uint64_t source;
	size_t n_metadata;

	if (!al_checkpoint_hash(job->view->checkpoint, &source, err))
		return false;
	al_plan_make(&plan, job);
	const struct al_metadata *metadata = make_metadata(job, source, &n_metadata);
	if (!check_gain(&plan, err))
		return false;
	if (!al_safetensors_create(&writer, path, plan.headers, plan.n, metadata, n_metadata, err))
		return false;
	if (write_tensors(&plan, writer, err)
		&& al_checkpoint_check_unchanged(job->view->checkpoint, err))
		return put_in_place(job, writer, path, err);
	al_safetensors_abandon(writer);
	return false;
}
