/* The sweeps that a scenario wants, of its cases. */
#include "scenario/sweeps.h"

bool al_sweep_of_case(const struct al_scenario_sweep *sweep, const struct al_case *case_,
	struct al_request *request, struct al_ledger_sweep *out, struct al_error *err)
{
	if (!al_case_ask(request, case_, &sweep->changes, sweep->sweep.id, err))
		return false;
	*out = sweep->sweep;
	out->request = request;
	return true;
}
