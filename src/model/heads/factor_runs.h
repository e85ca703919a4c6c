/* Where the numbers of a factor are stored: runs along the head axes of tensors. */
#ifndef ATTNLEDGER_VIEWS_FACTOR_RUNS_H
#define ATTNLEDGER_VIEWS_FACTOR_RUNS_H

#include "model/heads/internal.h"

/* What is made of one module. */
struct al_factor_maker {
	struct al_model_view *view;
	const struct al_model_module *module;
	struct al_stored_module stored;
	const struct al_stored_part *weights[AL_N_PROJECTIONS]; /* what each factor is; or NULL */
	struct al_attention *out;
};

/* The runs of one of the variant's tensors. Tensors that are missing or have another shape are
 * AL_EINPUT. */
bool al_factor_collect_runs(struct al_factor_maker *m, const struct al_entry *entry, bool is_output,
	struct al_factor *factor, struct al_error *err) AL_MUST_CHECK;

/* What compress stored under names that the family doesn't have is taken out of the family's
 * tensors, and read from its own. */
void al_view_take_moved(struct al_factor_maker *m);
/* Values of `had` heads once for each of `heads`, which share them. */
bool al_view_repeat(struct al_factor_maker *m, struct al_factor *factor, int64_t had, int64_t heads,
	struct al_error *err) AL_MUST_CHECK;
bool al_view_take_projection(struct al_factor_maker *m, enum al_projection p, bool *is_taken,
	struct al_error *err) AL_MUST_CHECK;

/* W_O isn't fused along its head axis: the run is the whole of it. */
void al_factor_take_whole(struct al_factor *factor);

int64_t al_factor_columns(const struct al_factor *factor);

#endif
