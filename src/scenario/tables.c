/* The tables that a scenario wants: their columns. */
#include "scenario/tables.h"

const struct al_scenario_variant *const *al_column_pivot(const struct al_scenario_table *table,
	const struct al_scenario_column *column, size_t *n)
{
	*n = column->only ? column->n_only : table->n_variants;
	if (column->is_once && *n > 1)
		*n = 1;
	return column->only ? column->only : table->variants;
}
