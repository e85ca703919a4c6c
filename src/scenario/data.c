/* Measured numbers: finding one by its row. */
#include "scenario/data.h"

const struct al_datum *al_datum_find(const struct al_data_set *set, const char *case_,
	const char *variant, size_t column)
{
	for (size_t i = 0; i < set->n_rows; i++) {
		const struct al_data_row *row = &set->rows[i];
		if ((!row->case_ || row->case_ == case_)
			&& (!row->variant || row->variant == variant))
			return &row->cells[column];
	}
	return NULL;
}
