/* variants in a sentence. */
#ifndef ATTNLEDGER_COMMANDS_VARIANTS_H
#define ATTNLEDGER_COMMANDS_VARIANTS_H

#include "base/table.h"

/* Of the table of formulas; `order` is the symbol of its column `order`, `against` the variant of
 * its column `difference`, NULL where it has no such column. */
const char *al_variants_summarize(struct al_arena *arena, const struct al_table *table,
	const char *order, const char *against);

#endif
