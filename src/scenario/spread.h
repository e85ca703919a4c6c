/* A number and what it varies by, as papers print them. */
#ifndef ATTNLEDGER_SCENARIO_SPREAD_H
#define ATTNLEDGER_SCENARIO_SPREAD_H

#include <gmp.h>
#include <stdbool.h>

/* Cuts the spread off "84.0 ± 0.3", "84.0 (0.3)", "84.0+-0.3", "84.0 +/- 0.3", where it stands
 * after the number; NULL where there is none. */
char *al_spread_cut(char *printed);

/* "[83.7, 84.3]": the middle, and half the width as what it varies by. Both have as many decimals
 * as tell them exactly, at least as many as the ends. False where the text is no such range; the
 * first end may be the greater one, and the spread is then negative. */
bool al_spread_of_range(char *printed, mpq_t middle, int *digits, mpq_t spread);

#endif
