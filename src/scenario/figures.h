/* The figures that a scenario wants: which rows of a table, a sweep or a listing
 * are drawn. */
#ifndef ATTNLEDGER_SCENARIO_FIGURES_H
#define ATTNLEDGER_SCENARIO_FIGURES_H

#include "figure/figure.h"
#include "scenario/listings.h"
#include "scenario/sweeps.h"
#include "scenario/tables.h"

struct al_scenario_figure {
	struct al_figure figure;
	const struct cJSON *node; /* in the file */
	const struct al_scenario_table *table; /* one of the three */
	const struct al_scenario_sweep *sweep;
	const struct al_scenario_listing *listing;
	int64_t panel_columns; /* in rows of so many; 0: all side by side */
	unsigned better_x, better_y; /* of a frontier; 1: the higher one */
	const char **variants, **cases; /* only these rows; NULL: all */
	size_t n_variants, n_cases;
	const char **melted; /* columns that become rows, the column being the series */
	size_t n_melted;
	const struct al_scenario_listing *beneath; /* has figure.beneath; NULL: none */
	const char *beneath_by; /* a column of both, by which rows go together; NULL: the panel's */
};

#endif
