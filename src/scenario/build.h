/* Building what a scenario wants: its tables, sweeps, and the rows of its figures. Each fills a
 * table, empty at first, that the caller finishes either way. */
#pragma once

#include "scenario/column.h"

bool al_table_build(struct al_evaluator *evaluator, const struct al_scenario_table *table,
	struct al_table *out, struct al_error *err) AL_MUST_CHECK;

bool al_sweep_build(struct al_evaluator *evaluator, const struct al_scenario_sweep *sweep,
	struct al_table *out, struct al_error *err) AL_MUST_CHECK;

void al_listing_build(const struct al_scenario_listing *listing, struct al_table *out);

/* Of the figure's table, sweep or listing, which is built already, what the figure draws. */
bool al_figure_build(const struct al_scenario_figure *figure, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;

/* Where the table asks for it: of each column that has a better and a worse, the best of the
 * variants that compete within a case; without variants, of all rows; and the second best. Cells
 * that read the same are equally good. */
void al_table_mark_best(const struct al_scenario_table *table, struct al_table *out);

/* "*" where Welch's t-test gives p < 0.05, "**" where p < 0.01, of the datum against the one of the
 * table's reference in the same column and case; NULL where it gives neither, or where one of the
 * two has no spread. Fails where the data set lacks the number of runs. */
bool al_significance_mark(const struct al_cell_place *place,
	const struct al_scenario_column *column, const struct al_datum *datum, const char **mark,
	struct al_error *err) AL_MUST_CHECK;

/* The note of a table that has such marks. */
void al_significance_note(const struct al_scenario_table *table, struct al_table *out);

bool al_table_arrange(const struct al_arrangement *wanted, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;
