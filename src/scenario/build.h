/* Building what a scenario wants: its tables, sweeps, and the rows of its figures. Each fills a
 * table that the caller finishes; on failure there is nothing to finish. */
#ifndef ATTNLEDGER_SCENARIO_BUILD_H
#define ATTNLEDGER_SCENARIO_BUILD_H

#include "scenario/memo.h"

bool al_table_build(struct al_evaluator *evaluator, const struct al_scenario_table *table,
	struct al_table *out, struct al_error *err) AL_MUST_CHECK;

bool al_sweep_build(struct al_evaluator *evaluator, const struct al_scenario_sweep *sweep,
	struct al_table *out, struct al_error *err) AL_MUST_CHECK;

void al_listing_build(const struct al_scenario_listing *listing, struct al_table *out);

/* Of the figure's table, sweep or listing, which is built already, what the figure draws. */
bool al_figure_build(const struct al_scenario_figure *figure, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;

#endif
