/* Plots: rows of a table sorted into panels and series, for one of the marks. */
#include "figure/plot.h"

#include "figure/mark.h"

/* ---- marks ---- */

#define MARK_POINTER(name) &al_mark_##name,

static const struct al_mark *const marks[AL_FIGURE_N_MARKS] = {AL_FIGURE_MARKS(MARK_POINTER)};

static bool find_mark(const char *name, const struct al_mark **out, struct al_error *err)
{
	int index = al_find_name(name, al_figure_marks, AL_FIGURE_N_MARKS);

	if (index < 0)
		return al_fail_unknown(err, "mark", name, al_figure_marks, AL_FIGURE_N_MARKS);
	*out = marks[index];
	return true;
}

/* ---- panels and series ---- */

/* The index of `name` among distinct names, added if it is new. */
static bool intern(const char **names, size_t *n, size_t most, const char *name, const char *what,
	size_t *out, struct al_error *err)
{
	const int found = al_find_name(name, names, *n);

	*out = found >= 0 ? (size_t)found : *n;
	if (found >= 0)
		return true;
	if (*n == most)
		return al_fail(err, AL_EINPUT, "more than %zu %s, too many to distinguish", most,
			what);
	names[(*n)++] = name;
	return true;
}

static bool place_panel(struct al_plot *plot, size_t row, size_t *out, struct al_error *err)
{
	const size_t n = plot->n_panels;

	if (!intern(plot->panels, &plot->n_panels, AL_MOST_PANELS,
		    al_plot_name(plot, row, plot->columns.panel), "panels", out, err))
		return false;
	if (plot->n_panels > n)
		al_plot_add_beneath(plot, row, n);
	return true;
}

static bool place_series(struct al_plot *plot, size_t row, size_t y, size_t *out,
	struct al_error *err)
{
	const int column = plot->columns.series;

	*out = y;
	if (plot->figure->n_stacked)
		return true;
	if (!intern(plot->series, &plot->n_series, AL_MOST_SERIES, al_plot_name(plot, row, column),
		    "series", out, err))
		return false;
	if (column >= 0 && plot->table->rows[row][column].kind == AL_CELL_TEXT)
		plot->series_texts[*out] = plot->table->rows[row][column].text;
	return true;
}

/* A date or a finite number; anything else is missing. */
static double number_of(const struct al_cell *cell)
{
	double value;

	if (al_plot_read_date(cell, &value))
		return value;
	return al_cell_number(cell, &value) && isfinite(value) ? value : NAN;
}

/* A part of a stack has no bar of its own. */
static void set_height(struct al_point *point, const struct al_cell *cell, bool is_stacked)
{
	const double spread = cell->spread && !is_stacked ? mpq_get_d(cell->spread) : 0;

	point->y = number_of(cell);
	point->low = point->y - spread;
	point->high = point->y + spread;
}

static bool place_x(struct al_plot *plot, const struct al_cell *cell, double *out,
	struct al_error *err)
{
	size_t index = 0;

	if (plot->categories
		&& !intern(plot->categories, &plot->n_categories, AL_MOST_CATEGORIES,
			al_plot_cell_text(&plot->arena, cell), "values side by side", &index, err))
		return false;
	*out = plot->categories ? (double)index : number_of(cell);
	return true;
}

static bool is_same(const struct al_cell *a, const struct al_cell *b)
{
	double x, y;

	if (a->kind == AL_CELL_TEXT && b->kind == AL_CELL_TEXT)
		return strcmp(a->text, b->text) == 0;
	return al_cell_number(a, &x) && al_cell_number(b, &y) && x == y;
}

/* Another strand than the row before? The strands of other series and panels may have the same
 * names. */
static size_t find_strand(struct al_plot *plot, size_t row)
{
	struct al_cell *const *rows = plot->table->rows;
	const int column = plot->columns.strand;

	plot->n_strands += row > 0 && !is_same(&rows[row][column], &rows[row - 1][column]);
	return plot->n_strands;
}

static bool set_band(struct al_point *point, const struct al_cell *cells,
	const struct al_plot_columns *columns, struct al_error *err)
{
	point->band_low = point->band_high = NAN;
	if (columns->band_low < 0)
		return true;
	const double low = number_of(&cells[columns->band_low]),
		     high = number_of(&cells[columns->band_high]);
	if (low > high)
		return al_fail(err, AL_EINPUT,
			"row %zu: the band's low end, %g, lies above its high end, %g",
			point->row + 1, low, high);
	if (!isnan(low) && !isnan(high)) {
		point->band_low = low;
		point->band_high = high;
	}
	return true;
}

static bool add_row(struct al_plot *plot, size_t row, struct al_error *err)
{
	const struct al_plot_columns *columns = &plot->columns;
	const struct al_cell *cells = plot->table->rows[row];
	struct al_point point = {.row = row};

	if (!place_panel(plot, row, &point.panel, err)
		|| !place_x(plot, &cells[columns->x], &point.x, err))
		return false;
	if (columns->label >= 0)
		point.label = al_plot_cell_text(&plot->arena, &cells[columns->label]);
	if (columns->strand >= 0)
		point.strand = find_strand(plot, row);
	if (columns->color >= 0)
		point.color = number_of(&cells[columns->color]);
	if (!set_band(&point, cells, columns, err))
		return false;
	for (size_t y = 0; y < columns->n_y; y++) {
		if (!place_series(plot, row, y, &point.series, err))
			return false;
		set_height(&point, &cells[columns->y[y]], plot->figure->n_stacked > 0);
		if (!isnan(point.x))
			*AL_APPEND(&plot->arena, plot->points.items, plot->points.n,
				plot->points_room) = point;
	}
	return true;
}

/* Bars of one series must not share a place. */
static bool check_slots(const struct al_plot *plot, struct al_error *err)
{
	for (size_t i = 1; i < plot->points.n; i++) {
		const struct al_point *p = &plot->points.items[i];
		if (p->panel == p[-1].panel && p->series == p[-1].series && p->x == p[-1].x)
			return al_fail(err, AL_EINPUT, "two rows (%zu and %zu) for %s%s%s",
				p[-1].row + 1, p->row + 1, plot->categories[(size_t)p->x],
				*plot->series[p->series] ? ", " : "", plot->series[p->series]);
	}
	return true;
}

static bool check_spec(const struct al_figure *figure, const struct al_mark *mark,
	struct al_error *err)
{
	const struct {
		bool is_wrong;
		const char *needs;
	} rules[] = {
		{figure->n_stacked && !mark->can_stack, "\"stacked\" needs the mark bar"},
		{figure->strands.column && !mark->joins, "strands need the mark line"},
		{figure->label && !mark->takes_labels, "\"label\" needs the mark point"},
		{figure->frontier.is_drawn && !mark->takes_labels,
			"\"frontier\" needs the mark point"},
		{figure->n_bands && !mark->joins, "\"bands\" need the mark line"},
		{figure->inset.is_drawn && (mark->has_slots || mark->has_cells),
			"an inset needs the mark line or point"},
		{figure->series && mark->has_cells, "\"series\" needs lines, bars or points"},
		{figure->n_references > 0 && mark->has_cells,
			"\"references\" need lines, bars or points"},
		{figure->n_ratios && mark->has_cells, "\"ratios\" need lines, bars or points"},
		{figure->is_horizontal && !mark->has_slots, "\"horizontal\" needs the mark bar"},
		{figure->is_horizontal && figure->n_ratios > 0, "\"ratios\" need upright bars"},
		{figure->writes_values && !mark->has_slots && !mark->has_cells,
			"\"values\" need the mark bar or heatmap"},
		{figure->x.is_free && (mark->has_slots || mark->has_cells),
			"a free x axis needs the mark line or point"},
		{figure->y.is_free && mark->has_cells, "a free y axis needs lines, bars or points"},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].is_wrong)
			return al_fail(err, AL_EINPUT, "%s, found %s", rules[i].needs,
				figure->mark);
	if ((figure->x.is_free || figure->y.is_free) && !figure->panel)
		return al_fail(err, AL_EINPUT, "a free axis needs \"panel\"");
	if (figure->n_stacked && figure->series)
		return al_fail(err, AL_EINPUT,
			"either \"stacked\" or \"series\" (\"%s\"), not both", figure->series);
	if (figure->n_stacked && figure->y.scale == AL_AXIS_LOG)
		return al_fail(err, AL_EINPUT, "stacked bars can't have a log axis");
	if (mark->has_cells != (figure->color.column != NULL))
		return al_fail(err, AL_EINPUT, "%s",
			mark->has_cells ? "a heatmap needs the column of its colors"
					: "only a heatmap has a column of colors");
	if (mark->has_cells && (figure->x.scale == AL_AXIS_LOG || figure->y.scale == AL_AXIS_LOG))
		return al_fail(err, AL_EINPUT, "a %s can't have a log axis", figure->mark);
	return true;
}

/* A column's words begin with a capital at an axis; its key stays as it is. */
static const char *axis_title(struct al_arena *arena, const struct al_axis *axis,
	const struct al_column *column)
{
	bool has_unit = column->unit[0] && column->quantity != AL_QUANTITY_BYTES;

	if (axis->title)
		return axis->title;
	char *title = has_unit ? al_format(arena, "%s (%s)", column->title, column->unit)
			       : al_strdup(arena, column->title);
	if (*title >= 'a' && *title <= 'z' && strcmp(column->title, column->key) != 0)
		*title += 'A' - 'a';
	return title;
}

/* Stacked columns' axis is named by what their titles have in common. */
static const char *stack_title(const struct al_column *column)
{
	static const char *const titles[] = {
		[AL_QUANTITY_PLAIN] = "",
		[AL_QUANTITY_COUNT] = "Parameters",
		[AL_QUANTITY_BYTES] = "Memory",
		[AL_QUANTITY_FLOPS] = "FLOPs",
	};

	return column->group ? column->group : titles[column->quantity];
}

static void describe(struct al_plot *plot, struct al_dimension *dimension,
	const struct al_axis *axis, int index)
{
	const struct al_column *column = &plot->table->columns[index];

	dimension->title = axis_title(&plot->arena, axis, column);
	dimension->quantity = column->quantity;
	dimension->is_date = al_plot_has_dates(plot->table, index);
	dimension->is_log = axis->scale == AL_AXIS_LOG && !dimension->is_date;
	dimension->is_min_fixed = axis->has_min;
	dimension->is_max_fixed = axis->has_max;
	dimension->min = axis->min;
	dimension->max = axis->max;
}

/* A series among the figure's looks has its place, any other one a place after all of them. */
static void choose_looks(struct al_plot *plot)
{
	const struct al_figure *figure = plot->figure;
	size_t next = 0;

	for (size_t i = 0; i < figure->n_looks; i++)
		next = al_most(figure->looks[i].place + 1, next);
	for (size_t i = 0; i < plot->n_series; i++) {
		const struct al_look *known = AL_FIND(figure->looks, figure->n_looks,
			plot->series[i]);
		plot->looks[i] = known ? known->place : next++;
	}
}

bool al_plot_init(struct al_plot *plot, const struct al_figure *figure,
	const struct al_table *table, struct al_error *err)
{
	const struct al_plot_columns *columns = &plot->columns;

	*plot = (struct al_plot){.figure = figure, .table = table, .points_room = 64};
	al_arena_init(&plot->arena);
	if (!find_mark(figure->mark, &plot->mark, err) || !check_spec(figure, plot->mark, err)
		|| !al_plot_find_columns(plot, err))
		return false;
	plot->points.items = al_new_array(&plot->arena, struct al_point, plot->points_room);
	if (plot->mark->has_slots || !al_plot_has_numbers(table, columns->x))
		plot->categories = al_new_array(&plot->arena, const char *, AL_MOST_CATEGORIES);
	describe(plot, &plot->x, &figure->x, columns->x);
	describe(plot, &plot->y, &figure->y, columns->y[0]);
	if (plot->mark->has_cells)
		describe(plot, &plot->color, &figure->color, columns->color);
	if (figure->n_stacked && !figure->y.title)
		plot->y.title = stack_title(&table->columns[columns->y[0]]);
	for (size_t i = 0; i < figure->n_stacked; i++)
		plot->series[plot->n_series++] = table->columns[columns->y[i]].title;
	for (size_t row = 0; row < table->n_rows; row++)
		if (!add_row(plot, row, err))
			return false;
	al_points_sort(&plot->points, plot->mark->joins || plot->mark->has_slots);
	if (plot->mark->has_slots && !check_slots(plot, err))
		return false;
	choose_looks(plot);
	plot->names_series = columns->series >= 0
		&& (columns->series == columns->label
			|| (plot->mark->has_slots && columns->series == columns->x));
	if (figure->strands.column)
		al_plot_part_strands(plot);
	if (figure->frontier.is_drawn)
		al_plot_find_fronts(plot);
	return al_plot_find_bands(plot, err) && al_plot_find_ratios(plot, err)
		&& al_plot_bound(plot, err) && al_plot_bound_inset(plot, err);
}
