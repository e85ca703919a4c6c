/* The working set: what training holds beyond states and saved activations at the moment when
 * memory is fullest. A recipe lists it term by term ("working"); this evaluates the terms for a
 * pipeline stage.
 *
 * A term without "during" is held all the time. The others belong to a moment (the loss, a
 * feed-forward block, the experts): moments don't come at once, so the peak has the terms of one
 * of them, the one that adds most. A term may be negative: what was freed by that moment. */
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

/* Makes rows [recipe->n_working] and sums up those in the peak. They live as long as the saved
 * lines. `layer_bytes`: what a layer saves for backward where it is computed again, else 0. */
bool al_working_evaluate(const struct al_stage *stage, struct al_ledger *ledger,
	const struct al_ledger_list *tensors, const struct al_saved_entries *saved,
	mpq_srcptr layer_bytes, const struct al_working_row **rows, mpq_t total,
	struct al_error *err) AL_MUST_CHECK;
