/* Numbers as papers print them: 28.32, 0.6..17.4, 2/3, 55%, ~55, 28.3M, 4x, 80.0 ± 0.3, 1e6. */
#pragma once

#include "base/base.h"

#include <gmp.h>

/* The factor of a unit: M is 10^6, KiB 1024; 1 for any other text, and for NULL. */
int64_t al_unit_factor(const char *unit);

/* Cuts the spread off "84.0 ± 0.3", "84.0 (0.3)", "84.0+-0.3", "84.0 +/- 0.3", where it comes after
 * the number; NULL where there is none. */
char *al_spread_cut(char *printed);

/* "[83.7, 84.3]": the middle, and half the width as what it varies by. Both have enough decimals to
 * be exact, at least as many as the ends. False where the text is no such range; the first end may
 * be the greater one, and the spread is then negative. */
bool al_spread_of_range(struct al_arena *arena, char *printed, mpq_t middle, int *digits,
	mpq_t spread);

/* The numbers that are printed so, in units of `scale`. */
struct al_printed {
	struct al_arena *arena; /* that they live in */
	mpq_ptr first, last; /* as printed; equal but for a range */
	mpq_ptr low, high; /* with what rounding allows */
	int digits; /* decimals */
	int64_t scale; /* 10^6 of 1e6: its last digit is a million */
	const char *unit; /* after the number: "M"; NULL: none */
	bool is_fraction; /* 2/3 is not rounded */
	bool is_about; /* ~55 */
};

/* All but low and high; false where the text is no such number. */
bool al_printed_parse(struct al_printed *printed, struct al_arena *arena, const char *text);

/* Makes it the number whose last digit (of 2/3: the numerator) is one more. */
void al_printed_shift(struct al_printed *printed);
