/* Paths: what a claim's value names. */
#ifndef ATTNLEDGER_SCENARIO_PATH_H
#define ATTNLEDGER_SCENARIO_PATH_H

#include "scenario/cell.h"

/* The value at the point or elsewhere in the box. The column (its unit) is NULL where it is not
 * printed. */
bool al_path_value(struct al_evaluator *evaluator, const char *path, struct al_data_box *box,
	struct al_scenario_cell *out, const struct al_column **column,
	struct al_error *err) AL_MUST_CHECK;

/* What it can be within the box of its data; more than that, perhaps. */
bool al_path_enclose(struct al_evaluator *evaluator, const char *path, struct al_interval *out,
	struct al_error *err) AL_MUST_CHECK;

#endif
