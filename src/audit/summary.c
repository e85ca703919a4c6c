/* Lines of the summary. */
#include "audit/summary.h"

struct al_range al_range_of(struct al_arena *arena, const struct al_table *table,
	const char *column, const char *key, const char *only)
{
	double *values = al_new_array(arena, double, table->n_rows + 1);
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++)
		if ((!key || strcmp(al_table_text(table, row, key), only) == 0)
			&& al_table_number(table, row, column, &values[n]))
			n++;
	if (n == 0)
		return (struct al_range){0};
	al_sort_falling(values, n);
	return (struct al_range){values[n - 1], (values[(n - 1) / 2] + values[n / 2]) / 2,
		values[0], n};
}

void al_summary_add(struct al_table *summary, const char *item, const char *value)
{
	struct al_cell *cell = al_table_add_row(summary);

	al_cell_set_text(summary, cell++, item);
	al_cell_set_text(summary, cell, value);
}

/* Without a sign where only zeros are printed. */
static const char *print_number(struct al_arena *arena, double value, int digits)
{
	return al_format(arena, "%.*f", digits, fabs(value) < pow(.1, digits) / 2 ? 0 : value);
}

const char *al_range_text(struct al_arena *arena, struct al_range r, int digits)
{
	const char *low = print_number(arena, r.low, digits);
	const char *high = print_number(arena, r.high, digits);

	if (strcmp(low, high) == 0)
		return low;
	return al_format(arena, "%s (%s to %s)", print_number(arena, r.middle, digits), low, high);
}

static int64_t field_of(const struct al_attention *module, size_t field)
{
	int64_t value;

	memcpy(&value, (const char *)module + field, sizeof(value));
	return value;
}

const char *al_summary_of(struct al_arena *arena, const struct al_model_view *view, size_t field)
{
	for (size_t i = 0; i < view->n_modules; i++)
		if (field_of(&view->modules[i], field) != field_of(view->modules, field))
			return "";
	return al_format(arena, " of %lld", (long long)field_of(view->modules, field));
}
