/* Building the rows that a figure draws: cut out of a table or a sweep, with the texts beneath its
 * panels. */
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

static bool find_in(const struct al_scenario_figure *figure, const struct al_table *table,
	const char *key, int *out, struct al_error *err)
{
	*out = al_table_find_column(table, key);
	return *out >= 0
		|| al_fail(err, AL_EINPUT, "figure \"%s\": table \"%s\" has no column \"%s\"",
			figure->figure.id, table->id, key);
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
		if (!find_in(figure, table, figure->melted[i], &columns[i], err))
			return false;
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

/* ---- texts beneath panels ---- */

/* The row of `beneath` that has the same text in its column. */
static bool find_row(const struct al_table *beneath, int column, const struct al_cell *by,
	size_t *out)
{
	for (*out = 0; *out < beneath->n_rows; ++*out) {
		const struct al_cell *cell = &beneath->rows[*out][column];
		if (cell->kind == AL_CELL_TEXT && by->kind == AL_CELL_TEXT
			&& strcmp(cell->text, by->text) == 0)
			return true;
	}
	return false;
}

/* `columns` [n_beneath + 1] of the listing, the last that which rows go together by; `by` is the
 * table's. */
static bool join_rows(const struct al_scenario_figure *figure, const struct al_table *table, int by,
	const struct al_table *beneath, const int *columns, struct al_table *out,
	struct al_error *err)
{
	const size_t n = figure->figure.n_beneath;

	for (size_t r = 0; r < table->n_rows; r++) {
		const struct al_cell *row = table->rows[r];
		struct al_cell *cells = al_table_add_row(out);
		size_t found;
		if (!find_row(beneath, columns[n], &row[by], &found))
			return al_fail(err, AL_EINPUT,
				"figure \"%s\": listing \"%s\" has no row for the panel of row %zu",
				figure->figure.id, beneath->id, r + 1);
		for (size_t c = 0; c < table->n_columns; c++)
			al_cell_copy(out, cells++, &row[c]);
		for (size_t c = 0; c < n; c++)
			al_cell_copy(out, cells++, &beneath->rows[found][columns[c]]);
	}
	return true;
}

/* Puts the listing's columns behind the table's own. */
static bool join(const struct al_scenario_figure *figure, struct al_table *table,
	struct al_error *err)
{
	const struct al_figure *f = &figure->figure;
	const char *key = figure->beneath_by ? figure->beneath_by : f->panel;
	int *columns = al_new_array(&table->arena, int, f->n_beneath + 1), by;
	AL_ENDS(al_table_finish) struct al_table beneath;
	struct al_table out;

	al_listing_build(figure->beneath, &beneath);
	for (size_t i = 0; i < f->n_beneath; i++)
		if (!find_in(figure, &beneath, f->beneath[i], &columns[i], err))
			return false;
	if (!find_in(figure, table, key, &by, err)
		|| !find_in(figure, &beneath, key, &columns[f->n_beneath], err))
		return false;
	al_table_init(&out, table->id, table->title);
	al_table_add_columns(&out, table->columns, table->n_columns);
	for (size_t i = 0; i < f->n_beneath; i++)
		al_table_add_column(&out, beneath.columns[columns[i]]);
	bool ok = join_rows(figure, table, by, &beneath, columns, &out, err);
	al_table_finish(table);
	*table = out;
	return ok;
}

bool al_figure_build(const struct al_scenario_figure *figure, struct al_table *table,
	struct al_error *err)
{
	cut_unwanted(figure, table);
	return (figure->n_melted == 0 || melt(figure, table, err))
		&& (!figure->beneath || join(figure, table, err));
}
