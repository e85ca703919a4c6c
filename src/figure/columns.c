/* The columns of a table that a figure draws. */
#include "figure/plot.h"

#include "base/date.h"

static bool find_column(const struct al_table *table, const char *key, int *out,
	struct al_error *err)
{
	*out = al_table_find_column(table, key);
	return *out >= 0
		|| al_fail_unknown_item(err, "column", key, table->columns, table->n_columns,
			sizeof(*table->columns));
}

bool al_plot_read_date(const struct al_cell *cell, double *years)
{
	int64_t days, length;

	if (cell->kind != AL_CELL_TEXT || !al_date_parse(cell->text, &days, &length))
		return false;
	*years = (double)days / AL_DAYS_A_YEAR;
	return true;
}

bool al_plot_has_dates(const struct al_table *table, int column)
{
	size_t n = 0;
	double years;

	for (size_t row = 0; row < table->n_rows; row++) {
		const struct al_cell *cell = &table->rows[row][column];
		if (al_plot_read_date(cell, &years))
			n++;
		else if (cell->kind == AL_CELL_TEXT)
			return false;
	}
	return n > 0;
}

bool al_plot_has_numbers(const struct al_table *table, int column)
{
	double value;

	for (size_t row = 0; row < table->n_rows; row++)
		if (al_cell_number(&table->rows[row][column], &value))
			return true;
	return al_plot_has_dates(table, column);
}

static bool is_taken(const struct al_plot_columns *columns, int column)
{
	return column == columns->x || column == columns->series || column == columns->panel
		|| column == columns->label;
}

/* The default axes: x is the first column that nothing else uses, y the first measure. */
static bool find_default_axis(const struct al_plot *plot, bool is_measure, int *out,
	struct al_error *err)
{
	const struct al_table *table = plot->table;

	for (int i = 0; i < (int)table->n_columns; i++) {
		if (is_taken(&plot->columns, i)
			|| (is_measure
				&& (table->columns[i].is_key || !al_plot_has_numbers(table, i))))
			continue;
		*out = i;
		return true;
	}
	return al_fail(err, AL_EINPUT, "the table has no column left for the %s axis",
		is_measure ? "y" : "x");
}

static bool find_list(const struct al_table *table, const char *const *keys, size_t n, int *out,
	struct al_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (!find_column(table, keys[i], &out[i], err))
			return false;
	return true;
}

/* One band at most has columns. */
static bool find_band(struct al_plot *plot, struct al_error *err)
{
	struct al_plot_columns *columns = &plot->columns;

	columns->band_low = columns->band_high = -1;
	for (size_t i = 0; i < plot->figure->n_bands; i++) {
		const struct al_band *band = &plot->figure->bands[i];
		if (band->low && columns->band_low >= 0)
			return al_fail(err, AL_EINPUT,
				"two bands of columns (the second from \"%s\" to \"%s\"); only one "
				"is possible",
				band->low, band->high);
		if (band->low
			&& (!find_column(plot->table, band->low, &columns->band_low, err)
				|| !find_column(plot->table, band->high, &columns->band_high, err)))
			return false;
	}
	return true;
}

bool al_plot_find_columns(struct al_plot *plot, struct al_error *err)
{
	const struct al_figure *figure = plot->figure;
	const struct al_table *table = plot->table;
	struct al_plot_columns *c = &plot->columns;
	const struct {
		const char *key;
		int *out;
	} named[] = {{figure->series, &c->series}, {figure->panel, &c->panel},
		{figure->label, &c->label}, {figure->strands.column, &c->strand},
		{figure->x.column, &c->x}, {figure->color.column, &c->color},
		{figure->n_stacked ? NULL : figure->y.column, &c->y[0]}};

	c->n_y = figure->n_stacked ? figure->n_stacked : 1;
	c->beneath = al_new_array(&plot->arena, int, figure->n_beneath);
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		*named[i].out = -1;
		if (named[i].key && !find_column(table, named[i].key, named[i].out, err))
			return false;
	}
	return (c->x >= 0 || find_default_axis(plot, false, &c->x, err)) && find_band(plot, err)
		&& find_list(table, figure->stacked, figure->n_stacked, c->y, err)
		&& (c->y[0] >= 0 || find_default_axis(plot, true, &c->y[0], err))
		&& find_list(table, figure->beneath, figure->n_beneath, c->beneath, err);
}
