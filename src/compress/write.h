/* Writing a compressed checkpoint: what its files say of themselves, the files, where they go. */
#ifndef ATTNLEDGER_COMPRESS_WRITE_H
#define ATTNLEDGER_COMPRESS_WRITE_H

#include <stdint.h>

#include "formats/safetensors.h"
#include "compress/plan.h"

#define AL_ALL_SHARDS SIZE_MAX

/* What a shard of the original says of itself, or all of them, and what was done. `source` is the
 * original's hash; `config` is a config.json that doesn't stand beside the file, or NULL. The list
 * is the arena's. */
const struct al_metadata *al_job_metadata(struct al_job *job, uint64_t source, size_t shard,
	const char *config, size_t *n);

/* Tensors of a plan that stand in one file. */
struct al_plan_part {
	size_t first, n;
};

/* Writes a file with these tensors; the caller puts it in its place. */
bool al_plan_write(const struct al_plan *plan, struct al_plan_part part,
	const struct al_metadata *metadata, size_t n_metadata, const char *path,
	struct al_safetensors_writer **out, struct al_error *err) AL_MUST_CHECK;

/* Is `path` to become a folder? Where it is one, ends in a slash, or where the original has an
 * index and the path doesn't end as a file of safetensors does. */
bool al_job_writes_folder(const struct al_job *job, const char *path);

/* Can the folder be made? */
bool al_job_check_folder(const struct al_job *job, const char *path,
	struct al_error *err) AL_MUST_CHECK;

/* Adds the copy's config.json, of a view that has one, and sets job->config_says. */
struct al_text;
void al_job_write_config(struct al_job *job, const struct al_plan *plan, struct al_text *out);

/* A folder with the original's shards under their names, its index, `config` and its tokenizer's
 * files. */
bool al_job_write_folder(struct al_job *job, const struct al_plan *plan, uint64_t source,
	const struct al_text *config, const char *path, struct al_error *err) AL_MUST_CHECK;

/* Asks the options' check about what was written. */
bool al_job_approve(const struct al_job *job, const char *written, struct al_error *err);

#endif
