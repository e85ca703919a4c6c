/* The compressed file's tensors: what of each is copied from the original, and what is new.
 *
 * Writing the file and comparing its copies with the original follow one plan. */
#pragma once

#include "compress/job.h"
#include "formats/tensor_writer.h"

struct al_planned_tensor {
	const struct al_tensor *source; /* NULL: new, all of it in one change */
	const struct al_dtype *recoded; /* its numbers are written anew in this format; NULL: bytes
					   that stay are copied */
	double *weights; /* [n_weights] what its columns' squared errors count; NULL: alike */
	size_t n_weights;
	bool is_slow;
	const struct al_slice **changes; /* that make room for other numbers, by their place along
					    the source's head axis */
	size_t n_changes, room;
	uint64_t bytes;
};

struct al_plan {
	struct al_job *job;
	struct al_tensor *headers; /* name, dtype, shape, shard; in the order of the files */
	struct al_planned_tensor *tensors; /* besides headers */
	size_t n, headers_room, tensors_room;
};

/* The job's arena owns the plan. */
void al_plan_make(struct al_plan *plan, struct al_job *job);

/* ---- weigh.c ---- */

/* Sets the weights of the tensors that the options have any for. */
bool al_plan_weigh(struct al_plan *plan, struct al_error *err) AL_MUST_CHECK;

/* "12 tensors of F32 as q4_k"; NULL: none is recoded. */
const char *al_plan_describe_formats(const struct al_plan *plan);

/* Bytes that follow each other in the new tensor; of one that is recoded, those of its and its
 * source's numbers in float32. */
struct al_planned_run {
	bool is_copied; /* from the source's byte `from` on, else from what was put aside ... */
	const struct al_dtype *dtype; /* ... in this format */
	uint64_t from, bytes;
};

typedef bool al_visit_run(void *context, const struct al_planned_tensor *tensor,
	const struct al_planned_run *run, struct al_error *err);

/* Visits a tensor's runs from its first byte to its last, until a visit fails. */
bool al_planned_tensor_visit(const struct al_planned_tensor *tensor, al_visit_run *visit,
	void *context, struct al_error *err) AL_MUST_CHECK;

/* ---- compare.c ---- */

/* Compares byte for byte all that the job's modules leave as it is in the original, and notes the
 * tensors that differ, are missing or have no counterpart, the first few by name. Of the modules
 * the layouts are read. `is_same`: none does. */
bool al_copies_compare(struct al_job *job, struct al_table *table, bool *is_same,
	struct al_error *err) AL_MUST_CHECK;

/* ---- write.c ---- */

#define AL_ALL_SHARDS SIZE_MAX

/* Writes a file with the tensors of a shard, or of all, and metadata as al_job_metadata makes them,
 * or as a GGUF file has them; the caller puts it in its place. */
bool al_plan_write(const struct al_plan *plan, size_t shard, const char *config, const char *path,
	struct al_tensor_writer **out, struct al_error *err) AL_MUST_CHECK;

/* ---- metadata.c ---- */

/* What a shard of the original records of itself, or all of them, and what was done. `config` is a
 * config.json that isn't next to the file, or NULL. The list is the arena's. */
const struct al_metadata *al_job_metadata(struct al_job *job, size_t shard, const char *config,
	size_t *n);

/* What was done, alone. */
const struct al_metadata *al_job_record(struct al_job *job, const char *config, size_t *n);

/* ---- write_gguf.c ---- */

/* Sets job->sizes and job->config_note; fails where llama.cpp can't run the new sizes. */
bool al_job_describe_gguf(struct al_job *job, const struct al_plan *plan,
	struct al_error *err) AL_MUST_CHECK;

/* Writes the header; the tensors are to follow. */
bool al_plan_create_gguf(const struct al_plan *plan, const char *path,
	struct al_tensor_writer **out, struct al_error *err) AL_MUST_CHECK;

/* ---- write_config.c ---- */

/* A module's sizes in the copy. */
void al_job_sizes(const struct al_job *job, const struct al_attention *attention,
	struct al_head_sizes *out);

/* Adds the original's config with the copy's sizes. False where the family can't give them: they
 * differ by module, it has no keys for them, or it would expect other tensors. */
struct al_text;
bool al_job_edit_config(struct al_job *job, const struct al_plan *plan, struct al_text *out,
	struct al_head_sizes *sizes) AL_MUST_CHECK;

/* Adds the copy's config.json, of a view that has one, and sets job->config_note. */
bool al_job_write_config(struct al_job *job, const struct al_plan *plan, struct al_text *out,
	struct al_error *err) AL_MUST_CHECK;
