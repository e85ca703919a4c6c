/* Deriving what a claim prints: its value at a point of the box of the data that it uses, and what
 * it can be within a region of that box. */
#ifndef ATTNLEDGER_SCENARIO_DERIVE_H
#define ATTNLEDGER_SCENARIO_DERIVE_H

#include "scenario/path.h"

struct derivation {
	struct evaluator *evaluator;
	const struct claim *claim;
	struct box box; /* begins empty: the value at the data's point values fills it */
	const struct al_column *column; /* of a path alone; NULL where it is not printed */
	bool is_missing;
};

bool al_derive_point(struct derivation *d, struct cell *out, struct al_error *err) AL_MUST_CHECK;

bool al_derive_range(struct derivation *d, const struct region *region, struct al_interval *out,
	struct al_error *err) AL_MUST_CHECK;

#endif
