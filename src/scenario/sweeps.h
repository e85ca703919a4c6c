/* The sweeps that a scenario wants: a curve for each of some cases. */
#ifndef ATTNLEDGER_SCENARIO_SWEEPS_H
#define ATTNLEDGER_SCENARIO_SWEEPS_H

#include "scenario/arrange.h"
#include "scenario/conditions.h"
#include "scenario/sweep.h"

struct al_scenario_sweep {
	struct al_ledger_sweep sweep; /* without its request: that is the case's */
	const struct al_case **cases; /* one curve after the other */
	const struct al_case *one_case; /* named without a list; or NULL */
	size_t n_cases;
	bool shows_case; /* named by a column */
	struct al_arrangement arrangement; /* of the table that is printed, not of figures */
	struct al_changes changes;
};

/* The sweep as it runs for one case, and its request, which the caller finishes. */
bool al_sweep_of_case(const struct al_scenario_sweep *sweep, const struct al_case *case_,
	struct al_request *request, struct al_ledger_sweep *out,
	struct al_error *err) AL_MUST_CHECK;

#endif
