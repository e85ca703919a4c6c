/* Building a listing's table: what reads as a number is one. */

#include "scenario/build.h"

static void set_cell(struct al_table *table, struct al_cell *cell, const char *text)
{
	int64_t whole;
	char *end;

	if (!text)
		return;
	const size_t n = al_read_digits(text, &whole);
	const double real = strtod(text, &end);
	if (n > 0 && !text[n] && whole >= 0)
		al_cell_set_int(table, cell, whole);
	else if (end != text && !*end && isfinite(real))
		al_cell_set_real(cell, real);
	else
		al_cell_set_text(table, cell, text);
}

void al_listing_build(const struct al_scenario_listing *listing, struct al_table *out)
{
	al_table_init(out, listing->id, listing->title ? listing->title : listing->id);
	al_table_add_columns(out, listing->columns, listing->n_columns);
	for (size_t r = 0; r < listing->n_rows; r++) {
		struct al_cell *cells = al_table_add_row(out);
		for (size_t c = 0; c < listing->n_columns; c++)
			set_cell(out, &cells[c], listing->rows[r][c]);
	}
}
