/* Memos: what a table's rows are worth, kept for the cells, claims and corners that ask again. */
#ifndef ATTNLEDGER_SCENARIO_MEMO_H
#define ATTNLEDGER_SCENARIO_MEMO_H

#include "scenario/internal.h"

/* What one row's variant is worth, computed once. */
struct memo {
	struct memo *next;
	struct row row;
	bool has_conditions, has_block;
	struct conditions conditions;
	struct al_block block;
	mpq_srcptr measures[AL_N_MEASURES];
	struct al_polynomial *formula, *difference;
};

/* The memo of a row, made where there is none yet. */
bool find_memo(struct al_scenario *s, const struct table *table, struct row row, struct memo **out,
	struct al_error *err);

#endif
