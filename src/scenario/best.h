/* Marking the best cells of a table. */
#ifndef ATTNLEDGER_SCENARIO_BEST_H
#define ATTNLEDGER_SCENARIO_BEST_H

#include "scenario/contents.h"

/* Where the table asks for it: of each column that has a better and a worse, the best of the
 * variants that compete within a case; without variants, of all rows; and the second best. Cells
 * that read the same are equally good. */
void al_table_mark_best(const struct al_scenario_table *table, struct al_table *out);

#endif
