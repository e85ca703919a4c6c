/* The columns of a table that a figure draws. */
#include "figure/plot.h"

static bool find_column(const struct al_table *table, const char *key, int *out,
	struct al_error *err)
{
	const char *known[64];
	size_t n_known = table->n_columns < 64 ? table->n_columns : 64;

	*out = al_table_find_column(table, key);
	if (*out >= 0)
		return true;
	for (size_t i = 0; i < n_known; i++)
		known[i] = table->columns[i].key;
	return al_fail_unknown(err, "column", key, known, n_known);
}

static bool find_optional(const struct al_table *table, const char *key, int *out,
	struct al_error *err)
{
	*out = -1;
	return !key || find_column(table, key, out, err);
}

bool al_plot_has_numbers(const struct al_table *table, int column)
{
	double value;

	for (size_t row = 0; row < table->n_rows; row++)
		if (al_cell_number(&table->rows[row][column], &value))
			return true;
	return false;
}

static bool is_taken(const struct al_plot_columns *columns, int column)
{
	return column == columns->x || column == columns->series || column == columns->panel
		|| column == columns->label;
}

/* The default axes: x is the first column that nothing else uses, y the first measure. */
static bool find_default_axis(const struct al_table *table, const struct al_plot_columns *columns,
	bool is_measure, int *out, struct al_error *err)
{
	for (int i = 0; i < (int)table->n_columns; i++) {
		if (is_taken(columns, i)
			|| (is_measure
				&& (table->columns[i].is_key || !al_plot_has_numbers(table, i))))
			continue;
		*out = i;
		return true;
	}
	return al_fail(err, AL_EINPUT, "the table has no column left for the %s axis",
		is_measure ? "y" : "x");
}

static bool find_y(const struct al_figure *figure, const struct al_table *table,
	struct al_plot_columns *columns, struct al_error *err)
{
	columns->n_y = figure->n_stacked ? figure->n_stacked : 1;
	for (size_t i = 0; i < figure->n_stacked; i++)
		if (!find_column(table, figure->stacked[i], &columns->y[i], err))
			return false;
	if (figure->n_stacked)
		return true;
	if (figure->y.column)
		return find_column(table, figure->y.column, &columns->y[0], err);
	return find_default_axis(table, columns, true, &columns->y[0], err);
}

static bool find_beneath(const struct al_figure *figure, const struct al_table *table,
	struct al_arena *arena, int **out, struct al_error *err)
{
	int *columns = *out = al_new_array(arena, int, figure->n_beneath);

	for (size_t i = 0; i < figure->n_beneath; i++)
		if (!find_column(table, figure->beneath[i], &columns[i], err))
			return false;
	return true;
}

/* One band at most has columns. */
static bool find_band(const struct al_figure *figure, const struct al_table *table,
	struct al_plot_columns *columns, struct al_error *err)
{
	columns->band_low = columns->band_high = -1;
	for (size_t i = 0; i < figure->n_bands; i++) {
		const struct al_band *band = &figure->bands[i];
		if (band->low && columns->band_low >= 0)
			return al_fail(err, AL_EINPUT,
				"two bands of columns (the second from \"%s\" to \"%s\"), "
				"expected one",
				band->low, band->high);
		if (band->low
			&& (!find_column(table, band->low, &columns->band_low, err)
				|| !find_column(table, band->high, &columns->band_high, err)))
			return false;
	}
	return true;
}

static bool find_columns(const struct al_figure *figure, const struct al_table *table,
	struct al_plot_columns *columns, struct al_error *err)
{
	columns->x = -1;
	if (!find_optional(table, figure->series, &columns->series, err)
		|| !find_optional(table, figure->panel, &columns->panel, err)
		|| !find_optional(table, figure->label, &columns->label, err)
		|| !find_optional(table, figure->strands.column, &columns->strand, err)
		|| !find_optional(table, figure->x.column, &columns->x, err))
		return false;
	if (!figure->x.column && !find_default_axis(table, columns, false, &columns->x, err))
		return false;
	if (!find_optional(table, figure->color.column, &columns->color, err)
		|| !find_band(figure, table, columns, err))
		return false;
	return find_y(figure, table, columns, err);
}

bool al_plot_find_columns(struct al_plot *plot, const struct al_table *table,
	struct al_plot_columns *columns, struct al_error *err)
{
	return find_columns(plot->figure, table, columns, err)
		&& find_beneath(plot->figure, table, &plot->arena, &columns->beneath, err);
}
