/* Measured numbers: finding one by its row. */
#include "scenario/data.h"

#include <string.h>

const struct datum *find_datum(const struct data_set *set, const char *kase, const char *variant,
	size_t column)
{
	for (size_t i = 0; i < set->n_rows; i++) {
		const struct data_row *row = &set->rows[i];
		if ((!row->kase || strcmp(row->kase, kase) == 0)
			&& (!row->variant || (variant && strcmp(row->variant, variant) == 0)))
			return &row->cells[column];
	}
	return NULL;
}
