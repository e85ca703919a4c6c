/* A draft of a figure's caption: its title, and what its points say in a sentence. */
#include <math.h>

#include "figure/mark.h"
#include "figure/ticks.h"

/* The points with the least and the greatest value. */
struct extremes {
	const struct al_point *least, *greatest;
};

/* Of the points at one x; of all where it is NAN. */
static struct extremes find_extremes(const struct al_plot *plot, double x)
{
	struct extremes e = {0};

	for (size_t i = 0; i < plot->points.n; i++) {
		const struct al_point *point = &plot->points.items[i];
		if (isnan(point->y) || (!isnan(x) && point->x != x))
			continue;
		if (!e.least || point->y < e.least->y)
			e.least = point;
		if (!e.greatest || point->y > e.greatest->y)
			e.greatest = point;
	}
	return e;
}

static double last_x(const struct al_plot *plot)
{
	double last = NAN;

	for (size_t i = 0; i < plot->points.n; i++)
		last = fmax(last, plot->points.items[i].x);
	return last;
}

static void add_value(struct al_text *out, double value, const struct al_dimension *dimension)
{
	char label[AL_TICK_LABEL_SIZE];

	al_tick_label_rounded(label, value, dimension->quantity);
	al_text_add(out, label);
}

/* "MHA (12.6M)" */
static void add_named(struct al_text *out, const struct al_plot *plot, const char *name,
	const struct al_point *point)
{
	al_text_addf(out, "%s (", name);
	add_value(out, point->y, &plot->y);
	al_text_add(out, ")");
}

/* ---- a sentence a mark ---- */

static void tell_lines(struct al_text *out, const struct al_plot *plot)
{
	const double x = last_x(plot);
	const struct extremes e = find_extremes(plot, x);

	if (plot->n_series < 2 || plot->n_panels > 1 || !e.least || plot->figure->strands.column
		|| e.least->series == e.greatest->series)
		return;
	al_text_add(out, " At the right end from ");
	add_named(out, plot, plot->series[e.least->series], e.least);
	al_text_add(out, " to ");
	add_named(out, plot, plot->series[e.greatest->series], e.greatest);
	al_text_add(out, ".");
}

static void tell_bars(struct al_text *out, const struct al_plot *plot)
{
	const struct extremes e = find_extremes(plot, NAN);

	if (plot->figure->n_stacked || plot->n_series > 1 || plot->n_panels > 1 || !e.least
		|| !plot->categories || e.least == e.greatest)
		return;
	al_text_add(out, " From ");
	add_named(out, plot, plot->categories[(size_t)e.least->x], e.least);
	al_text_add(out, " to ");
	add_named(out, plot, plot->categories[(size_t)e.greatest->x], e.greatest);
	al_text_add(out, ".");
}

/* Labels of the front, where every point of it has one. */
static void tell_front(struct al_text *out, const struct al_plot *plot)
{
	const struct al_front *front = &plot->fronts[0];
	const struct al_pareto *wanted = &plot->figure->frontier;

	for (size_t i = 0; i < front->n; i++)
		if (!front->points[i]->label || !*front->points[i]->label)
			return;
	if (front->n == 0 || plot->n_panels > 1)
		return;
	al_text_add(out, " On the Pareto front: ");
	for (size_t i = 0; i < front->n; i++)
		al_text_addf(out, "%s%s",
			i == 0			   ? ""
				: i + 1 < front->n ? ", "
						   : " and ",
			front->points[i]->label);
	al_text_addf(out, " (%s and %s is better); dominated points are grey and open.",
		wanted->x_is_higher ? "right" : "left", wanted->y_is_higher ? "up" : "down");
}

static void tell_cells(struct al_text *out, const struct al_plot *plot)
{
	al_text_addf(out, " %s from ", plot->color.title);
	add_value(out, plot->color.min, &plot->color);
	al_text_add(out, " to ");
	add_value(out, plot->color.max, &plot->color);
	al_text_add(out, ".");
}

static bool has_spread(const struct al_plot *plot)
{
	for (size_t i = 0; i < plot->points.n && !plot->figure->strands.column; i++)
		if (plot->points.items[i].high > plot->points.items[i].low)
			return true;
	return false;
}

/* ---- what was laid over ---- */

static const char *title_of(const struct al_plot *plot, int column)
{
	return plot->table->columns[column].title;
}

static void tell_bands(struct al_text *out, const struct al_plot *plot)
{
	for (size_t i = 0; i < plot->figure->n_bands; i++)
		if (plot->figure->bands[i].low)
			al_text_addf(out, " Shaded areas reach from %s to %s.",
				title_of(plot, plot->columns.band_low),
				title_of(plot, plot->columns.band_high));
	for (size_t i = 0; i < plot->n_between; i++)
		al_text_addf(out, " The shaded area lies between %s and %s.",
			plot->series[plot->between[i].one], plot->series[plot->between[i].other]);
}

static void tell_inset(struct al_text *out, const struct al_plot *plot)
{
	if (!plot->inset.is_drawn)
		return;
	al_text_add(out, " The inset enlarges what lies between ");
	add_value(out, plot->inset.x_min, &plot->x);
	al_text_add(out, " and ");
	add_value(out, plot->inset.x_max, &plot->x);
	al_text_add(out, " along x.");
}

bool al_figure_caption(const struct al_figure *figure, const struct al_table *table,
	struct al_text *out, struct al_error *err)
{
	const struct al_mark *mark = NULL;
	struct al_plot plot;

	if (!al_mark_find(figure->mark, &mark, err))
		return false;
	const bool is_done = al_plot_init(&plot, figure, mark, table, err);
	if (is_done) {
		al_text_addf(out, "%s.", figure->title ? figure->title : table->title);
		if (plot.fronts)
			tell_front(out, &plot);
		else if (mark->joins)
			tell_lines(out, &plot);
		else if (mark->has_slots)
			tell_bars(out, &plot);
		else if (mark->has_cells)
			tell_cells(out, &plot);
		if (!figure->n_stacked && has_spread(&plot))
			al_text_add(out,
				" Error bars are the spread that is printed with a score.");
		tell_bands(out, &plot);
		tell_inset(out, &plot);
	}
	al_plot_finish(&plot);
	return is_done;
}
