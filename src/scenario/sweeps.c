/* The sweeps that a scenario wants, under the conditions of a case. */
#include "scenario/sweeps.h"

bool sweep_under(const struct sweep *sweep, struct al_catalog *catalog, const struct kase *kase,
	struct conditions *conditions, struct al_sweep *out, struct al_error *err)
{
	if (!conditions_init(conditions, catalog, kase, &sweep->changes, err))
		return false;
	*out = sweep->sweep;
	out->ask = conditions_ask(conditions, NULL);
	out->recipe = conditions->recipe;
	return true;
}
