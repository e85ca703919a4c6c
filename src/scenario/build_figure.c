/* Building the rows that a figure draws: cut out of a table or a sweep. */
#include "scenario/build.h"

static bool is_wanted(const struct al_table *table, const struct al_cell *row, const char *key,
	const char *const *names, size_t n)
{
	int column = al_table_find_column(table, key);

	if (!names || column < 0)
		return true;
	return row[column].kind == AL_CELL_TEXT && al_find_name(row[column].text, names, n) >= 0;
}

static void cut_unwanted(const struct al_scenario_figure *figure, struct al_table *table)
{
	size_t n_rows = 0;

	for (size_t i = 0; i < table->n_rows; i++)
		if (is_wanted(table, table->rows[i], "variant", figure->variants,
			    figure->n_variants)
			&& is_wanted(table, table->rows[i], "case", figure->cases, figure->n_cases))
			table->rows[n_rows++] = table->rows[i];
	table->n_rows = n_rows;
}

static void melt_row(const struct al_table *wide, const struct al_cell *row, const int *columns,
	const struct al_scenario_figure *figure, size_t n_keys, struct al_table *out)
{
	for (size_t i = 0; i < figure->n_melted; i++) {
		struct al_cell *cell = al_table_add_row(out);
		for (size_t k = 0; k < n_keys; k++)
			al_cell_copy(out, cell++, &row[k]);
		al_cell_set_text(out, cell++, wide->columns[columns[i]].title);
		al_cell_copy(out, cell, &row[columns[i]]);
	}
}

/* Turns the columns of a wide table into rows: keys, column, value. */
static bool melt(const struct al_scenario_figure *figure, struct al_table *table,
	struct al_error *err)
{
	struct al_table out;
	size_t n_keys = 0;
	int *columns = al_new_array(&table->arena, int, figure->n_melted);

	for (size_t i = 0; i < figure->n_melted; i++)
		if ((columns[i] = al_table_find_column(table, figure->melted[i])) < 0)
			return al_fail(err, AL_EINPUT,
				"figure \"%s\": table \"%s\" has no column \"%s\"",
				figure->figure.id, table->id, figure->melted[i]);
	al_table_init(&out, table->id, table->title);
	while (n_keys < table->n_columns && table->columns[n_keys].is_key)
		al_table_add_column(&out, table->columns[n_keys++]);
	al_table_add_column(&out, (struct al_column){.key = "column", .is_key = true});
	struct al_column value = table->columns[columns[0]];
	value.key = value.title = "value";
	value.group = NULL;
	al_table_add_column(&out, value);
	for (size_t i = 0; i < table->n_rows; i++)
		melt_row(table, table->rows[i], columns, figure, n_keys, &out);
	al_table_finish(table);
	*table = out;
	return true;
}

bool al_figure_build(const struct al_scenario_figure *figure, struct al_table *table,
	struct al_error *err)
{
	cut_unwanted(figure, table);
	if (figure->n_melted == 0 || melt(figure, table, err))
		return true;
	al_table_finish(table);
	return false;
}
