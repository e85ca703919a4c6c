/* The working set: what training holds beyond states and saved activations at the moment when
 * memory is fullest. A recipe lists it term by term ("working"); this evaluates the terms for a
 * pipeline stage.
 *
 * A term without "during" is held all the time. The others belong to a moment (the loss, a
 * feed-forward block, the experts): moments don't come at once, so the peak has the terms of one
 * of them, the one that adds most. A term may be negative: what was freed by that moment. Last come
 * terms of what an allocator reserves without use, which may depend on the peak. */
#pragma once

#include "ledger/stage.h"

/* Does the training have a working set that is known? The recipe must have one, and the request
 * must be about the whole model. */
bool al_training_has_working(const struct al_training *training);

/* The bytes of a recipe's term on a stage. */
struct al_working_row {
	const struct al_working_term *term;
	bool occurs; /* the term's condition holds */
	bool is_in_peak; /* and it is held at the fullest moment */
	mpq_srcptr bytes;
};

/* What a stage holds when its working set is asked for. */
struct al_working_ask {
	struct al_ledger *ledger;
	const struct al_ledger_list *tensors;
	const struct al_saved_entries *saved;
	mpq_srcptr layer_bytes; /* what a layer saves for backward where it is computed again, else
				   0 */
	const struct al_stage_memory *held; /* by state */
};

/* Makes rows [recipe->n_working], which live as long as the saved lines. */
bool al_working_evaluate(const struct al_stage *stage, const struct al_working_ask *ask,
	const struct al_working_row **rows, struct al_error *err) AL_MUST_CHECK;

/* Of the rows in the peak the sum of those that are of a state (enum al_term_state), or of none
 * (-1), and the moment (NULL: none). */
void al_working_sum(const struct al_recipe *recipe, const struct al_working_row *rows, int state,
	mpq_t out);
const char *al_working_moment(const struct al_recipe *recipe, const struct al_working_row *rows);
