/* Where a compressed checkpoint goes: one file, or a folder of the original's shards. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output.h"
#include "base/text.h"
#include "compress/write.h"

/* ---- before the work ---- */

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return a && stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev
		&& first.st_ino == second.st_ino;
}

static bool check_file(const struct al_job *job, const char *path, struct al_error *err)
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

/* A file there lies beside what the path will be: not in the folder that it names, and where the
 * path is a device, in the system's folder. */
static const char *beside(struct al_job *job, const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	return al_output_is_direct(path) ? P_tmpdir "/" : al_strndup(&job->arena, path, length);
}

bool al_job_open_output(struct al_job *job, const char *path, struct al_error *err)
{
	const bool ok = al_job_writes_folder(job, path) ? al_job_check_folder(job, path, err)
							: check_file(job, path, err);

	return ok && al_spill_open(&job->aside, beside(job, path), err);
}

/* ---- after it ---- */

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

bool al_job_approve(const struct al_job *job, const char *written, struct al_error *err)
{
	const struct al_compress_options *options = job->options;

	return al_checkpoint_check_unchanged(job->view->checkpoint, err)
		&& (!options->check || options->check(options->context, written, err));
}

static bool write_file(struct al_job *job, const struct al_plan *plan, uint64_t source,
	const char *config, const char *path, struct al_error *err)
{
	struct al_safetensors_writer *writer;
	size_t n;
	const struct al_metadata *metadata = al_job_metadata(job, source, AL_ALL_SHARDS, config,
		&n);

	if (!al_plan_write(plan, (struct al_plan_part){0, plan->n}, metadata, n, path, &writer,
		    err))
		return false;
	const char *written = al_safetensors_written(writer);
	if (al_job_approve(job, written ? written : path, err))
		return al_safetensors_commit(writer, err);
	al_safetensors_abandon(writer);
	return false;
}

bool al_job_write(struct al_job *job, const char *path, struct al_error *err)
{
	struct al_plan plan;
	uint64_t source;

	if (!al_checkpoint_hash(job->view->checkpoint, &source, err))
		return false;
	al_plan_make(&plan, job);
	if (!check_gain(&plan, err))
		return false;
	struct al_text config;
	al_text_init(&config);
	job->writes_folder = al_job_writes_folder(job, path);
	if (job->view->has_config)
		al_job_write_config(job, &plan, &config);
	const bool ok = job->writes_folder
		? al_job_write_folder(job, &plan, source, &config, path, err)
		: write_file(job, &plan, source, job->view->has_config ? config.data : NULL, path,
			err);
	al_text_finish(&config);
	return ok;
}
