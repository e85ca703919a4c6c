/* Which scores differ from a reference's by more than their spread explains. */
#ifndef ATTNLEDGER_SCENARIO_SIGNIFICANCE_H
#define ATTNLEDGER_SCENARIO_SIGNIFICANCE_H

#include "scenario/column.h"

/* "*" where Welch's t-test says p < 0.05, "**" where p < 0.01, of the datum against the one of the
 * table's reference in the same column and case; NULL where it says neither, or where one of the
 * two has no spread. Fails where the data set doesn't say of how many runs its numbers are. */
bool al_significance_mark(const struct al_cell_place *place,
	const struct al_scenario_column *column, const struct al_datum *datum, const char **mark,
	struct al_error *err) AL_MUST_CHECK;

/* The note of a table that has such marks. */
void al_significance_note(const struct al_scenario_table *table, struct al_table *out);

#endif
