/* The working set: what training holds beyond states and saved activations at the moment when
 * memory is fullest. A recipe lists it term by term ("working"); this evaluates the terms for a
 * pipeline stage.
 *
 * A term without "during" is held all the time. The others belong to a moment (the loss, a
 * feed-forward block, the experts): moments don't come at once, so the peak has the terms of one
 * of them, the one that adds most. A term may be negative: what was freed by that moment. */
#ifndef ATTNLEDGER_LEDGER_WORKING_H
#define ATTNLEDGER_LEDGER_WORKING_H

#include "ledger/stage.h"

/* What the formulas of a stage may speak of; `of` by enum al_working_fact. */
struct al_working_facts {
	mpq_t of[AL_N_WORKING_FACTS];
};

void al_working_facts_init(struct al_working_facts *facts);
void al_working_facts_finish(struct al_working_facts *facts);

/* What the tensors on a stage, and what they save, say whatever the number of tokens is. */
void al_working_facts_count(const struct al_stage *stage, const struct al_ledger_list *tensors,
	const struct al_saved_entries *saved, struct al_working_facts *facts);

/* Does the training have a working set that is known? The recipe must tell one, and the request
 * must be about the whole model. */
bool al_training_has_working(const struct al_training *training);

/* Do tokens change a term? */
enum al_working_row_state { AL_ROW_NEW, AL_ROW_SETTLED, AL_ROW_OF_TOKENS };

/* What a recipe's term is worth on a stage. */
struct al_working_row {
	const struct al_working_term *term;
	bool occurs; /* the term's condition holds */
	bool is_in_peak; /* and it is held at the fullest moment */
	enum al_working_row_state state; /* private */
	mpq_t bytes;
};

struct al_working_row *al_working_rows_create(size_t n);
void al_working_rows_destroy(struct al_working_row *rows, size_t n);

/* Fills rows [recipe->n_working], new ones or those of the same stage with other tokens, and sums
 * up those in the peak. `facts` also gets what the training says. `layer_bytes`: what a layer saves
 * for backward where it is computed again, else 0. */
bool al_working_evaluate(const struct al_stage *stage, struct al_settings *settings,
	struct al_working_facts *facts, mpq_srcptr layer_bytes, struct al_working_row *rows,
	mpq_t total, struct al_error *err) AL_MUST_CHECK;

#endif
