/* Verdicts: a value against the numbers that would be printed so. */
#ifndef ATTNLEDGER_SCENARIO_VERDICT_H
#define ATTNLEDGER_SCENARIO_VERDICT_H

#include "scenario/printed.h"
#include "scenario/search.h"

/* low and high: how far the claim's rounding lets a value be away. */
void al_claim_allow_rounding(const struct claim *claim, struct printed *printed);

/* Is a number printed as it is, not a range that holds it or an end that it is beyond? */
bool al_claim_is_equality(const struct claim *claim);

/* Would the value, in the printed unit, be printed so? */
bool al_claim_is_reproduced(const struct claim *claim, mpq_srcptr value,
	const struct printed *printed);

/* The numbers that the claim may stand for, times a unit's factor. */
void al_target_init(struct target *target, const struct claim *claim, const struct printed *printed,
	int64_t factor);
void al_target_finish(struct target *target);

#endif
