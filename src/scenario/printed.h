/* Numbers as papers print them: 28.32, 0.6..17.4, 2/3, 55%, ~55, 28.3M, 4x, 80.0 ± 0.3, 1e6. */
#ifndef ATTNLEDGER_SCENARIO_PRINTED_H
#define ATTNLEDGER_SCENARIO_PRINTED_H

#include <gmp.h>
#include <stdbool.h>
#include <stdint.h>

/* The numbers that are printed so, in units of `scale`. */
struct al_printed {
	mpq_t first, last; /* as printed; equal but for a range */
	mpq_t low, high; /* with what rounding allows */
	int digits; /* decimals */
	int64_t scale; /* 10^6 of 1e6: its last digit is a million */
	const char *unit; /* after the number: "M"; NULL: none */
	bool is_fraction; /* 2/3 is not rounded */
	bool is_about; /* ~55 */
};

void al_printed_init(struct al_printed *printed);
void al_printed_finish(struct al_printed *printed);

/* All but low and high; false where the text is no such number. */
bool al_printed_parse(struct al_printed *printed, const char *text);

/* `to`, which is initialised, is the number whose last digit (of 2/3: the numerator) is so many
 * more. */
void al_printed_shift(struct al_printed *to, const struct al_printed *from, int steps);

#endif
