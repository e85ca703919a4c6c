/* Verdicts: a value against the numbers that would be printed so. */
#ifndef ATTNLEDGER_SCENARIO_VERDICT_H
#define ATTNLEDGER_SCENARIO_VERDICT_H

#include "scenario/printed.h"
#include "scenario/search.h"

/* low and high: how far the claim's rounding lets a value be away. */
void al_claim_allow_rounding(const struct al_scenario_claim *claim, struct al_printed *printed);

/* Is a number printed as it is, not a range that holds it or an end that it is beyond? */
bool al_claim_is_equality(const struct al_scenario_claim *claim);

/* Would the value, in the printed unit, be printed so? */
bool al_claim_is_reproduced(const struct al_scenario_claim *claim, mpq_srcptr value,
	const struct al_printed *printed);

/* The numbers that the claim may stand for, times a unit's factor. */
void al_target_init(struct al_target *target, const struct al_scenario_claim *claim,
	const struct al_printed *printed, int64_t factor);
void al_target_finish(struct al_target *target);

#endif
