/* The evaluator: what was computed of a scenario's contents, which it only reads. Cells, claims and
 * corners ask for the same rows again and again: each is computed once. */
#ifndef ATTNLEDGER_SCENARIO_MEMO_H
#define ATTNLEDGER_SCENARIO_MEMO_H

#include "scenario/contents.h"

/* Cache of the evaluated measures of one table row. */
struct memo {
	struct memo *next;
	struct row row;
	bool has_conditions, has_ledger;
	struct conditions conditions;
	struct al_ledger ledger;
	mpq_srcptr measures[AL_N_MEASURES]; /* NULL: not asked yet */
	struct al_polynomial *formula, *difference;
};

struct evaluator {
	struct al_arena arena;
	const struct al_scenario *scenario;
	struct memo **memos; /* [n_tables], a list each */
	size_t n_blocks; /* counted against their bound */
	size_t n_look_ups; /* since the table or the check began */
};

/* The contents are all read and outlive the evaluator. */
struct evaluator *al_evaluator_create(const struct al_scenario *scenario);
void al_evaluator_destroy(struct evaluator *evaluator);

/* The memo of a row, made where there is none yet. */
bool al_memo_find(struct evaluator *evaluator, const struct table *table, struct row row,
	struct memo **out, struct al_error *err) AL_MUST_CHECK;

/* Counts look-ups against their bound: a formula of formulas can grow without end. */
bool al_evaluator_spend(struct evaluator *evaluator, size_t look_ups,
	struct al_error *err) AL_MUST_CHECK;

#endif
