/* The sweeps that a scenario wants, under the conditions of a case. */
#include "scenario/sweeps.h"

bool al_sweep_under(const struct al_scenario_sweep *sweep, struct al_catalog *catalog,
	const struct al_case *case_, struct al_conditions *conditions, struct al_sweep *out,
	struct al_error *err)
{
	if (!al_conditions_init(conditions, catalog, case_, &sweep->changes, err))
		return false;
	*out = sweep->sweep;
	out->ask = al_conditions_ask(conditions, NULL);
	out->recipe = conditions->recipe;
	return true;
}
