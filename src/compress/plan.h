/* The compressed file's tensors: what of each is copied from the original, and what is new.
 *
 * Writing the file and comparing its copies with the original follow one plan. */
#ifndef ATTNLEDGER_COMPRESS_PLAN_H
#define ATTNLEDGER_COMPRESS_PLAN_H

#include "compress/job.h"

/* A slice of a tensor's head axis that makes room for other numbers. */
struct al_change {
	const struct al_slice *slice;
	uint64_t aside; /* where its bytes wait (not in a comparison) */
};

struct al_planned_tensor {
	const struct al_tensor *source; /* NULL: new, all of it in one change */
	bool is_slow;
	struct al_change *changes; /* by their place along the source's head axis */
	size_t n_changes, room;
	uint64_t bytes;
};

struct al_plan {
	struct al_job *job;
	struct al_tensor *headers; /* name, dtype, shape, shard; in the order of the files */
	struct al_planned_tensor *tensors; /* beside headers */
	size_t n, headers_room, tensors_room;
};

/* The job's arena owns the plan. */
void al_plan_make(struct al_plan *plan, struct al_job *job);

/* Bytes that follow each other in the new tensor. */
struct al_planned_run {
	bool is_copied; /* from the source's byte `from` on, else from what was put aside */
	uint64_t from, bytes;
};

typedef bool al_visit_run(void *context, const struct al_planned_tensor *tensor,
	const struct al_planned_run *run, struct al_error *err);

/* Visits a tensor's runs from its first byte to its last, until a visit fails. */
bool al_planned_tensor_visit(const struct al_planned_tensor *tensor, al_visit_run *visit,
	void *context, struct al_error *err) AL_MUST_CHECK;

#endif
