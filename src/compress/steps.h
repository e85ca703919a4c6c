/* The steps of a compression, one file each. */
#ifndef ATTNLEDGER_COMPRESS_STEPS_H
#define ATTNLEDGER_COMPRESS_STEPS_H

#include "compress/job.h"

/* ---- chosen.c ---- */

/* Is the module one of those that are asked for? */
bool al_job_takes(const struct al_job *job, const struct al_attention *attention);

/* All that can be refused before the work. */
bool al_job_check(struct al_job *job, struct al_error *err) AL_MUST_CHECK;

/* Which heads of the module go, [n_heads], the arena's; NULL: none. */
bool al_job_find_dropped(struct al_job *job, const struct al_attention *attention, bool **out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- rank.c ---- */

/* A module on its way. */
struct al_treated {
	const struct al_attention *attention;
	const struct al_scores *scores; /* NULL: methods on values */
	const bool *is_dropped; /* drop */
	size_t index; /* of the chosen modules */
};

/* Is W_O another where the method alone leaves it? */
bool al_job_refits(const struct al_compress_options *options);

/* The layout that is asked for, without its slices. */
struct al_module_layout al_treated_layout(const struct al_job *job,
	const struct al_treated *treated, int64_t rank);

/* Loads the scores that the method works on, into `scores`, where it works on scores. */
bool al_treated_load(struct al_job *job, struct al_treated *treated, struct al_scores *scores,
	struct al_error *err) AL_MUST_CHECK;
void al_treated_finish(struct al_treated *treated, struct al_scores *scores);

/* The relative error at a rank. */
bool al_error_at(struct al_job *job, const struct al_treated *treated, int64_t rank, double *error,
	struct al_error *err) AL_MUST_CHECK;

bool al_treated_make(struct al_job *job, const struct al_treated *treated,
	const struct al_module_layout *layout, struct al_pieces *out,
	struct al_error *err) AL_MUST_CHECK;

/* The rank that the user gave module number `index` of those that are asked for. */
bool al_given_rank(const struct al_job *job, const struct al_attention *attention, size_t index,
	int64_t *rank, struct al_error *err) AL_MUST_CHECK;

/* 0 for methods without a rank. */
bool al_choose_rank(struct al_job *job, const struct al_treated *treated, int64_t *rank,
	struct al_error *err) AL_MUST_CHECK;

/* ---- budget.c ---- */

/* job->ranks, for the modules that are asked for, out of the options' budget. */
bool al_job_spend(struct al_job *job, struct al_error *err) AL_MUST_CHECK;

/* ---- epfml.c ---- */

bool al_epfml_check(const struct al_attention *attention, struct al_error *err) AL_MUST_CHECK;
void al_epfml_fold(struct al_job_module *module, struct al_pieces *pieces);

/* ---- expressiveness.c ---- */

void al_count_dimensions(struct al_job *job, struct al_job_module *module,
	const struct al_pieces *pieces);
void al_answer_heads(const struct al_job *job, struct al_table *table);

/* ---- answer.c ---- */

void al_answer_fill(const struct al_job *job, struct al_table *table);

#endif
