/* Deriving what a claim prints: its value at a point of the box of the data that it uses, and what
 * it can be within that box. */
#ifndef ATTNLEDGER_SCENARIO_DERIVE_H
#define ATTNLEDGER_SCENARIO_DERIVE_H

#include "scenario/path.h"

struct al_derivation {
	struct al_evaluator *evaluator;
	const struct al_scenario_claim *claim;
	struct al_data_box box; /* begins empty: the value at the data's point values fills it */
	const struct al_column *column; /* of a path alone; NULL where it is not printed */
	bool is_missing;
};

bool al_derive_point(struct al_derivation *d, struct al_scenario_cell *out,
	struct al_error *err) AL_MUST_CHECK;

bool al_derive_range(struct al_derivation *d, struct al_interval *out,
	struct al_error *err) AL_MUST_CHECK;

#endif
