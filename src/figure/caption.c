/* A draft of a figure's caption: its title, and its points in a sentence. */

#include "figure/mark.h"
#include "figure/ticks.h"

/* The points with the least and the greatest value. */
struct extremes {
	const struct al_point *least, *greatest;
};

/* Range of the points at one x; NAN: of all points. */
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

/* A number as an axis shows it. */
static const char *number(struct al_plot *plot, double value, const struct al_dimension *dimension)
{
	char label[AL_TICK_LABEL_SIZE];

	al_tick_label_rounded(label, value, dimension->quantity);
	return al_strdup(&plot->arena, label);
}

/* "From MHA (12.6M) to MQA (7.1M)." */
static void tell_extremes(struct al_text *out, struct al_plot *plot, const char *from,
	const struct extremes *e, const char *least, const char *greatest)
{
	al_text_addf(out, " %s %s (%s) to %s (%s).", from, least,
		number(plot, e->least->y, &plot->y), greatest,
		number(plot, e->greatest->y, &plot->y));
}

/* ---- a sentence a mark ---- */

static void tell_lines(struct al_text *out, struct al_plot *plot)
{
	const double x = last_x(plot);
	const struct extremes e = find_extremes(plot, x);

	if (plot->n_series > 1 && plot->n_panels == 1 && e.least && !plot->figure->strands.column
		&& e.least->series != e.greatest->series)
		tell_extremes(out, plot, "At the right end from", &e, plot->series[e.least->series],
			plot->series[e.greatest->series]);
}

static void tell_bars(struct al_text *out, struct al_plot *plot)
{
	const struct extremes e = find_extremes(plot, NAN);

	if (!plot->figure->n_stacked && (plot->n_series == 1 || plot->names_series)
		&& plot->n_panels == 1 && e.least && e.least != e.greatest)
		tell_extremes(out, plot, "From", &e, plot->categories[(size_t)e.least->x],
			plot->categories[(size_t)e.greatest->x]);
}

static bool has_spread(const struct al_plot *plot)
{
	for (size_t i = 0; i < plot->points.n && !plot->figure->strands.column; i++)
		if (plot->points.items[i].high > plot->points.items[i].low)
			return true;
	return false;
}

static bool are_named(const struct al_point *const *points, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!points[i]->label || !*points[i]->label)
			return false;
	return n > 0;
}

static void list_labels(struct al_text *out, const struct al_point *const *points, size_t n)
{
	for (size_t i = 0; i < n; i++)
		al_text_addf(out, "%s%s",
			i == 0		    ? ""
				: i + 1 < n ? ", "
					    : " and ",
			points[i]->label);
}

/* Points that are neither on the front nor dominated. */
static size_t find_undecided(struct al_plot *plot, const struct al_point **out)
{
	const struct al_front *front = &plot->fronts[0];
	size_t n = 0;

	for (size_t i = 0; i < plot->points.n; i++) {
		const struct al_point *point = &plot->points.items[i];
		bool is_out = point->is_dominated || isnan(point->y);
		for (size_t k = 0; k < front->n && !is_out; k++)
			is_out = front->points[k] == point;
		if (!is_out)
			out[n++] = point;
	}
	return n;
}

static bool has_dominated(const struct al_plot *plot)
{
	for (size_t i = 0; i < plot->points.n; i++)
		if (plot->points.items[i].is_dominated)
			return true;
	return false;
}

/* Where every point of it has a label. */
static void tell_front(struct al_text *out, struct al_plot *plot)
{
	const struct al_front *front = &plot->fronts[0];
	const struct al_pareto *wanted = &plot->figure->frontier;
	const struct al_point **undecided = al_new_array(&plot->arena, const struct al_point *,
		plot->points.n);

	if (plot->n_panels > 1 || !are_named(front->points, front->n))
		return;
	al_text_add(out, " On the Pareto front: ");
	list_labels(out, front->points, front->n);
	al_text_addf(out, " (%s and %s is better).", wanted->better_x ? "right" : "left",
		wanted->better_y ? "up" : "down");
	const size_t n = find_undecided(plot, undecided);
	if (are_named(undecided, n)) {
		al_text_add(out, " Within the printed spreads, ");
		list_labels(out, undecided, n);
		al_text_add(out, " may be on it, too.");
	}
	if (has_dominated(plot))
		al_text_add(out, " Open points are dominated.");
}

static void tell_cells(struct al_text *out, struct al_plot *plot)
{
	const struct al_dimension *color = &plot->color;

	al_text_addf(out, " %s from %s to %s.", color->title, number(plot, color->min, color),
		number(plot, color->max, color));
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

static void tell_inset(struct al_text *out, struct al_plot *plot)
{
	if (plot->inset.is_drawn)
		al_text_addf(out, " The inset enlarges what lies between %s and %s along x.",
			number(plot, plot->inset.x_min, &plot->x),
			number(plot, plot->inset.x_max, &plot->x));
}

bool al_figure_caption(const struct al_figure *figure, const struct al_table *table,
	struct al_text *out, struct al_error *err)
{
	struct al_plot plot;

	const bool is_done = al_plot_init(&plot, figure, table, err);
	if (is_done) {
		al_text_addf(out, "%s.", figure->title ? figure->title : table->title);
		if (plot.fronts)
			tell_front(out, &plot);
		else if (plot.mark->joins)
			tell_lines(out, &plot);
		else if (plot.mark->has_slots)
			tell_bars(out, &plot);
		else if (plot.mark->has_cells)
			tell_cells(out, &plot);
		if (!figure->n_stacked && has_spread(&plot))
			al_text_add(out,
				" Error bars are the spread that is printed with a score.");
		tell_bands(out, &plot);
		tell_inset(out, &plot);
	}
	al_arena_finish(&plot.arena);
	return is_done;
}
