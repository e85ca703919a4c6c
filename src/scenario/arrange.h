/* A built table as it is printed: its rows sorted, and turned so that one of its keys heads groups
 * of columns. */
#ifndef ATTNLEDGER_SCENARIO_ARRANGE_H
#define ATTNLEDGER_SCENARIO_ARRANGE_H

#include "base/table.h"

struct al_arrangement {
	const char *pivot_by; /* a column whose values become groups of columns; or NULL */
	const char **keys; /* columns that then name the rows; none: all other keys */
	size_t n_keys;
	const char *sort_by; /* a column, or NULL */
	bool sort_descends;
};

bool al_table_arrange(const struct al_arrangement *wanted, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;

#endif
