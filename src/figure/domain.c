/* The limits of a plot's axes: what the marks reach, rounded outwards only by ticks. */
#include "figure/plot.h"

#include "figure/mark.h"

/* The range of the values on one axis, and how the axis treats them. */
struct span {
	double min, max;
	bool is_whole, is_binary;
	size_t n;
};

/* With values above this, or below its inverse, the arithmetic of ticks would overflow a double. */
static const double most_magnitude = 1e100;

static bool is_power_of_two(double value)
{
	int exponent;

	return value > 0 && frexp(value, &exponent) == 0.5;
}

static void include(struct span *span, double value)
{
	span->min = fmin(span->min, value);
	span->max = fmax(span->max, value);
	span->is_whole = span->is_whole && value == round(value);
	span->is_binary = span->is_binary && is_power_of_two(value);
	span->n++;
}

/* On a log axis an error bar may reach below what the axis has. */
static void include_point(const struct al_plot *plot, struct span *x, struct span *y,
	const struct al_point *point)
{
	if (isnan(point->y))
		return;
	include(x, point->x);
	include(y, plot->y.is_log && point->low <= 0 ? point->y : point->low);
	include(y, point->high);
	if (!isnan(point->band_low)) {
		include(y, point->band_low);
		include(y, point->band_high);
	}
}

/* The ends of stacked bars: the sums of the positive values and of the negative values. */
static void include_stack(struct span *y, const struct al_points *points, double slot)
{
	double above = 0, below = 0;

	for (size_t i = 0; i < points->n; i++)
		if (points->items[i].x == slot && !isnan(points->items[i].y))
			*(points->items[i].y < 0 ? &below : &above) += points->items[i].y;
	y->min = fmin(y->min, below);
	y->max = fmax(y->max, above);
}

static const struct span nothing = {.min = INFINITY,
	.max = -INFINITY,
	.is_whole = true,
	.is_binary = true};

static void gather_panel(const struct al_plot *plot, size_t panel, struct span *x, struct span *y)
{
	const struct al_points points = al_points_of_panel(&plot->points, panel);

	for (size_t i = 0; i < points.n; i++)
		include_point(plot, x, y, &points.items[i]);
	for (size_t slot = 0; plot->figure->n_stacked && slot < plot->n_categories; slot++)
		include_stack(y, &points, (double)slot);
}

/* An axis with a single value is widened, so that it has a length. */
static void widen(struct al_dimension *d)
{
	if (d->max - d->min > 1e-10 * fmax(fabs(d->min), fabs(d->max)))
		return;
	double low = d->min, high = d->max;
	double room = d->is_whole ? fmax(1, round(fabs(low) / 10)) : low == 0 ? 1 : fabs(low) / 10;
	if (!d->is_min_fixed)
		d->min = d->is_log ? low / 2 : low - room;
	if (!d->is_max_fixed)
		d->max = d->is_log ? high * 2 : high + room;
}

/* A linear axis includes zero where bars start from zero, or where the values come close to it. */
static void reach_zero(struct al_dimension *d, bool stands_on_zero)
{
	bool is_near = d->min >= 0 ? d->min <= 0.25 * d->max
				   : d->max <= 0 && d->max >= 0.25 * d->min;

	if (d->is_log || !(stands_on_zero || is_near))
		return;
	if (!d->is_min_fixed && d->min > 0)
		d->min = 0;
	if (!d->is_max_fixed && d->max < 0)
		d->max = 0;
}

/* On a log axis bars start at the power of the base below the least value, so that each has a
 * height. */
static void reach_power(struct al_dimension *d)
{
	double base = d->is_binary ? 2 : 10;

	if (d->is_log && !d->is_min_fixed)
		d->min = pow(base, ceil(log(d->min) / log(base) - 1e-9) - 1);
}

static bool bound(struct al_dimension *d, const struct span *span, const char *axis,
	bool stands_on_zero, struct al_error *err)
{
	if (d->is_log && span->min <= 0)
		return al_fail(err, AL_EINPUT,
			"the log %s axis has the value %g, expected only positive ones", axis,
			span->min);
	if (d->is_log && d->is_min_fixed && d->min <= 0)
		return al_fail(err, AL_EINPUT, "the log %s axis begins at %g, expected more than 0",
			axis, d->min);
	d->is_whole = span->is_whole;
	d->is_binary = d->quantity == AL_QUANTITY_BYTES || (d->is_log && span->is_binary);
	d->min = d->is_min_fixed ? d->min : span->min;
	d->max = d->is_max_fixed ? d->max : span->max;
	reach_zero(d, stands_on_zero);
	if (stands_on_zero)
		reach_power(d);
	if (d->min <= d->max)
		widen(d);
	if (fabs(d->min) > most_magnitude || fabs(d->max) > most_magnitude)
		return al_fail(err, AL_EINPUT,
			"the %s axis runs from %g to %g, expected at most %g", axis, d->min, d->max,
			most_magnitude);
	if (d->max - d->min > 1 / most_magnitude)
		return true;
	return al_fail(err, AL_EINPUT, "the %s axis runs from %g to %g, expected a range upwards",
		axis, d->min, d->max);
}

/* ---- cells ---- */

/* Half a cell beyond the first and the last. */
static void bound_cells(struct al_dimension *d, const struct span *span)
{
	d->min = span->min - 0.5;
	d->max = span->max + 0.5;
	d->is_whole = d->is_min_fixed = d->is_max_fixed = true;
}

/* As far as the data go unless it is fixed; as far below zero as above where the hues diverge. */
static bool bound_colors(struct al_plot *plot, struct al_error *err)
{
	struct al_dimension *d = &plot->color;
	struct span span = nothing;

	for (size_t i = 0; i < plot->points.n; i++) {
		const struct al_point *point = &plot->points.items[i];
		if (!isnan(point->color)
			&& !(plot->figure->leaves_diagonal && point->x == point->y))
			include(&span, point->color);
	}
	if (span.n == 0)
		return al_fail(err, AL_EINPUT,
			"nothing to draw: no cell has a number for its color");
	d->min = d->is_min_fixed ? d->min : span.min;
	d->max = d->is_max_fixed ? d->max : span.max;
	if (plot->figure->is_diverging) {
		d->max = fmax(fabs(d->min), fabs(d->max));
		d->min = -d->max;
	}
	if (!(d->min < d->max)) {
		d->min -= 0.5;
		d->max += 0.5;
	}
	return true;
}

/* References are on the y axis of each panel. */
static void include_references(const struct al_figure *figure, struct span *y)
{
	for (size_t i = 0; i < figure->n_references; i++) {
		y->min = fmin(y->min, figure->references[i].value);
		y->max = fmax(y->max, figure->references[i].value);
	}
}

static bool bound_all(struct al_plot *plot, struct al_error *err)
{
	struct span x = nothing, y = nothing;

	for (size_t panel = 0; panel < plot->n_panels; panel++)
		gather_panel(plot, panel, &x, &y);
	if (y.n == 0)
		return al_fail(err, AL_EINPUT, "nothing to draw: no row has numbers for both axes");
	if (plot->mark->has_cells) {
		bound_cells(&plot->x, &x);
		bound_cells(&plot->y, &y);
		return bound_colors(plot, err);
	}
	include_references(plot->figure, &y);
	if (plot->categories) {
		plot->x.min = -0.5;
		plot->x.max = (double)plot->n_categories - 0.5;
	} else if (!bound(&plot->x, &x, "x", false, err)) {
		return false;
	}
	return bound(&plot->y, &y, "y", plot->mark->stands_on_zero, err);
}

/* A panel without points has the axes of all. */
static bool bound_panel(struct al_plot *plot, size_t panel, struct al_dimension x,
	struct al_dimension y, struct al_error *err)
{
	const struct al_figure *figure = plot->figure;
	struct span x_span = nothing, y_span = nothing;

	plot->panel_x[panel] = plot->x;
	plot->panel_y[panel] = plot->y;
	gather_panel(plot, panel, &x_span, &y_span);
	if (x_span.n == 0 || plot->mark->has_cells)
		return true;
	include_references(figure, &y_span);
	if (figure->x.is_free && !plot->categories) {
		if (!bound(&x, &x_span, "x", false, err))
			return false;
		plot->panel_x[panel] = x;
	}
	if (figure->y.is_free) {
		if (!bound(&y, &y_span, "y", plot->mark->stands_on_zero, err))
			return false;
		plot->panel_y[panel] = y;
	}
	return true;
}

bool al_plot_bound(struct al_plot *plot, struct al_error *err)
{
	const struct al_dimension x = plot->x, y = plot->y;

	plot->panel_x = al_new_array(&plot->arena, struct al_dimension, plot->n_panels);
	plot->panel_y = al_new_array(&plot->arena, struct al_dimension, plot->n_panels);
	if (!bound_all(plot, err))
		return false;
	for (size_t panel = 0; panel < plot->n_panels; panel++)
		if (!bound_panel(plot, panel, x, y, err))
			return false;
	return true;
}
