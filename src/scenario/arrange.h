/* A built table as it is printed: its rows sorted, and turned so that one of its keys heads groups
 * of columns. */
#ifndef ATTNLEDGER_SCENARIO_ARRANGE_H
#define ATTNLEDGER_SCENARIO_ARRANGE_H

#include "scenario/tables.h"

bool al_table_arrange(const struct al_scenario_table *wanted, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;

#endif
