/* sweep in a sentence: how far a measure goes over the curve, and who is where at its end. */
#include "commands/sweep.h"

#include <string.h>

#include "commands/summary.h"

/* "n_heads = 1" of a row, over all axes. */
static const char *point(struct al_arena *arena, const struct al_table *table, size_t row,
	size_t n_axes)
{
	const char *text = "";

	for (size_t i = 0; i < n_axes; i++)
		text = al_format(arena, "%s%s%s = %s", text, i ? ", " : "", table->columns[i].key,
			al_text_of_cell(arena, table, row, table->columns[i].key));
	return text;
}

/* Rows run variant by variant. */
static size_t rows_of_first(const struct al_table *table)
{
	const char *variant = al_table_text(table, 0, "variant");
	size_t n = 1;

	while (n < table->n_rows && strcmp(al_table_text(table, n, "variant"), variant) == 0)
		n++;
	return n;
}

/* "Activations of mha from seq = 1,024 to seq = 4,096: 83.50 GiB to 874.00 GiB" */
static const char *say_first(struct al_arena *arena, const struct al_table *table, size_t n_axes,
	const char *measure, const char *title)
{
	const size_t last = rows_of_first(table) - 1;
	const char *from = al_text_of_cell(arena, table, 0, measure);
	const char *to = al_text_of_cell(arena, table, last, measure);
	const char *of = al_table_text(table, 0, "variant");

	if (!*from || !*to)
		return al_format(arena, "%s of %s: not known", title, of);
	if (last == 0)
		return al_format(arena, "%s of %s at %s: %s", title, of,
			point(arena, table, 0, n_axes), from);
	const char *values = strcmp(from, to) == 0 ? al_format(arena, "%s at both", from)
						   : al_format(arena, "%s to %s", from, to);
	return al_format(arena, "%s of %s from %s to %s: %s", title, of,
		point(arena, table, 0, n_axes), point(arena, table, last, n_axes), values);
}

/* At the last point: "; there from least to most: ..." */
static const char *say_others(struct al_arena *arena, const struct al_table *table,
	const char *measure)
{
	const size_t n_points = rows_of_first(table), n_variants = table->n_rows / n_points;
	struct al_said *items = al_new_array(arena, struct al_said, n_variants + 1);
	size_t n = 0;

	for (size_t row = n_points - 1; row < table->n_rows; row += n_points) {
		double value;
		if (al_table_number(table, row, measure, &value))
			items[n++] = (struct al_said){al_table_text(table, row, "variant"),
				al_text_of_cell(arena, table, row, measure), value};
	}
	return n > 1 ? al_format(arena, "; at the last %s", al_text_of_order(arena, items, n, 0))
		     : "";
}

static const char *recipe_text(struct al_arena *arena, enum al_measure measure,
	const struct al_recipe *recipe)
{
	const bool hangs_on_it = measure >= AL_WEIGHTS && measure <= AL_TOTAL;

	return hangs_on_it && recipe ? al_format(arena, "; assumed: recipe %s", recipe->name) : "";
}

const char *al_sweep_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_ledger_sweep *sweep)
{
	const size_t n_axes = sweep->n_axes;
	const struct al_column *measure = &table->columns[n_axes + 1];

	if (table->n_rows == 0)
		return NULL;
	return al_format(arena, "%s%s%s.",
		say_first(arena, table, n_axes, measure->key, measure->title),
		say_others(arena, table, measure->key),
		recipe_text(arena, sweep->measures[0], sweep->request->recipe));
}
