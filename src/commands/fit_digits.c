/* How many decimals tell what fits, what the next larger one needs, and the memory apart. */
#include <string.h>

#include "commands/fit.h"

enum { LEAST_DIGITS = 2, MOST_DIGITS = 9 };

static const char *const keys[] = {"bytes", "next_bytes", "memory"};

enum { N_KEYS = sizeof(keys) / sizeof(*keys) };

/* Unequal numbers that read the same? */
static bool reads_alike(const struct al_style *style, struct al_table *table, size_t row, int a,
	int b)
{
	const struct al_cell *x = &table->rows[row][a], *y = &table->rows[row][b];

	return x->kind == AL_CELL_EXACT && y->kind == AL_CELL_EXACT
		&& !mpq_equal(x->exact, y->exact)
		&& strcmp(al_cell_display(&table->arena, style, &table->columns[a], x),
			   al_cell_display(&table->arena, style, &table->columns[b], y))
		== 0;
}

static bool tells_apart(const struct al_style *style, struct al_table *table, const int at[N_KEYS])
{
	for (size_t row = 0; row < table->n_rows; row++)
		for (int i = 0; i < N_KEYS; i++)
			if (reads_alike(style, table, row, at[i], at[(i + 1) % N_KEYS]))
				return false;
	return true;
}

void al_fit_choose_digits(const struct al_style *style, struct al_table *table)
{
	const struct al_style readable = {
		.units = style->units == AL_UNITS_DEFAULT ? AL_UNITS_READABLE : style->units};
	int at[N_KEYS];

	for (int i = 0; i < N_KEYS; i++)
		at[i] = al_table_find_column(table, keys[i]);
	for (int digits = LEAST_DIGITS; digits <= MOST_DIGITS && !tells_apart(&readable, table, at);
		digits++)
		for (int i = 0; i < N_KEYS; i++)
			table->columns[at[i]].digits = digits + 1;
}
