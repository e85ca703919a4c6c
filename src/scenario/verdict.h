/* Verdicts: a value against the numbers that would be printed so. */
#ifndef ATTNLEDGER_SCENARIO_VERDICT_H
#define ATTNLEDGER_SCENARIO_VERDICT_H

#include "scenario/cell.h"

/* The value of a claim: its point, and its ends over the box of its data. */
struct value {
	struct cell point;
	mpq_t low, high;
	int64_t factor; /* of the unit that it is printed in */
};

/* The numbers that are printed so. */
struct printed {
	mpq_t first, last; /* as printed; equal but for a range */
	mpq_t low, high; /* with what rounding allows */
	int digits;
};

/* Reads "28.32" or "0.6..17.4" into numbers that the caller initialised; false where it is
 * neither. */
bool parse_printed(const char *text, struct printed *printed);

/* low and high: how far the claim's rounding lets a value be away. */
void allow_rounding(const struct claim *claim, struct printed *printed);

enum al_verdict judge(const struct claim *claim, const struct value *value,
	const struct printed *printed);

#endif
