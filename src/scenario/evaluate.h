/* Evaluating any cell: a key of the list, or a formula over other cells. */
#ifndef ATTNLEDGER_SCENARIO_EVALUATE_H
#define ATTNLEDGER_SCENARIO_EVALUATE_H

#include "scenario/cell.h"

/* A cell of any table by its key, whether it is printed or not. */
bool al_cell_value(const struct al_cell_place *place, const char *key, struct al_scenario_cell *out,
	struct al_error *err) AL_MUST_CHECK;

/* What the cell can be within the box of its data; more than that, perhaps. */
bool al_cell_enclose(const struct al_cell_place *place, const char *key, struct al_interval *out,
	struct al_error *err) AL_MUST_CHECK;

#endif
