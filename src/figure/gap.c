/* Broken axes: a part of a linear axis that is left out. Nothing may lie in it, both sides have
 * ticks, and a white strip with two strokes across the axis says where it is. */
#include <math.h>

#include "figure/mark.h"
#include "figure/measures.h"

/* ---- what a gap must not hide ---- */

struct gap {
	const struct al_dimension *axis;
	const char *name;
	struct al_error *err;
};

static bool shows(const struct gap *gap, double value, const char *what, size_t number)
{
	if (!gap->axis->is_broken || !(value > gap->axis->gap_from && value < gap->axis->gap_to))
		return true;
	return al_fail(gap->err, AL_EINPUT,
		"the gap of the %s axis from %g to %g hides %g (%s %zu)", gap->name,
		gap->axis->gap_from, gap->axis->gap_to, value, what, number);
}

static bool shows_point(const struct gap *x, const struct gap *y, const struct al_point *point,
	bool is_stacked)
{
	const size_t row = point->row + 1;

	return isnan(point->y)
		|| (shows(x, point->x, "row", row) && (is_stacked || shows(y, point->y, "row", row))
			&& shows(y, point->low, "row", row) && shows(y, point->high, "row", row)
			&& shows(y, point->band_low, "row", row)
			&& shows(y, point->band_high, "row", row));
}

/* Where each part of a stack ends. */
static bool shows_stack(const struct al_plot *plot, size_t panel, double slot, const struct gap *y)
{
	double above = 0, below = 0;

	for (size_t series = 0; series < plot->n_series; series++) {
		const struct al_points *points = al_plot_points(plot, panel, series);
		for (size_t i = 0; i < points->n; i++) {
			const struct al_point *point = &points->items[i];
			double *end = point->y < 0 ? &below : &above;
			if (point->x != slot || isnan(point->y))
				continue;
			*end += point->y;
			if (!shows(y, *end, "row", point->row + 1))
				return false;
		}
	}
	return true;
}

static bool shows_panel(const struct al_plot *plot, size_t panel, const struct gap *x,
	const struct gap *y)
{
	const bool is_stacked = plot->figure->n_stacked > 0;

	for (size_t series = 0; series < plot->n_series; series++) {
		const struct al_points *points = al_plot_points(plot, panel, series);
		for (size_t i = 0; i < points->n; i++)
			if (!shows_point(x, y, &points->items[i], is_stacked))
				return false;
	}
	for (size_t slot = 0; is_stacked && slot < plot->n_categories; slot++)
		if (!shows_stack(plot, panel, (double)slot, y))
			return false;
	return true;
}

static bool shows_ticks(const struct gap *gap, const struct al_axis *axis)
{
	for (size_t i = 0; i < axis->n_ticks; i++)
		if (!shows(gap, axis->ticks[i], "tick", i + 1))
			return false;
	return true;
}

static bool check_place(const struct gap *gap, bool has_numbers)
{
	const struct al_dimension *axis = gap->axis;

	if (!axis->is_broken)
		return true;
	if (!has_numbers)
		return al_fail(gap->err, AL_EINPUT, "the %s axis has no numbers, and so no gap",
			gap->name);
	if (axis->gap_from > axis->min && axis->gap_from < axis->gap_to && axis->gap_to < axis->max)
		return true;
	return al_fail(gap->err, AL_EINPUT,
		"the gap of the %s axis runs from %g to %g, expected a range within %g to %g",
		gap->name, axis->gap_from, axis->gap_to, axis->min, axis->max);
}

bool al_plot_check_gaps(const struct al_plot *plot, struct al_error *err)
{
	const struct al_figure *figure = plot->figure;
	const struct gap x = {&plot->x, "x", err}, y = {&plot->y, "y", err};
	const bool has_cells = plot->mark->has_cells;

	if (!check_place(&x, !plot->categories && !has_cells && !figure->has_own_x)
		|| !check_place(&y, !has_cells) || !shows_ticks(&x, &figure->x)
		|| !shows_ticks(&y, &figure->y))
		return false;
	for (size_t i = 0; i < figure->n_references; i++)
		if (!shows(&y, figure->references[i].value, "reference line", i + 1))
			return false;
	for (size_t panel = 0; panel < plot->n_panels; panel++)
		if (!shows_panel(plot, panel, &x, &y))
			return false;
	return true;
}

/* ---- ticks ---- */

/* The roundest number of a range, for a side with room for one tick alone. */
static double roundest(double low, double high, bool is_binary)
{
	const double base = is_binary ? 2 : 10;
	static const double steps[] = {5, 2, 1};
	double power = pow(base, ceil(log(fmax(fabs(low), fabs(high))) / log(base)));

	if (low <= 0 && high >= 0)
		return 0;
	for (int i = 0; i < 64; i++, power /= base)
		for (size_t k = is_binary ? 2 : 0; k < sizeof(steps) / sizeof(*steps); k++) {
			const double value = ceil(low / (steps[k] * power)) * steps[k] * power;
			if (value <= high)
				return value;
		}
	return low;
}

static void find_side(const struct al_tick_request *request, const struct al_scale *scale,
	double min, double max, struct al_ticks *out)
{
	struct al_tick_request side = *request;

	side.min = min;
	side.max = max;
	side.is_min_fixed |= min == scale->gap_to;
	side.is_max_fixed |= max == scale->gap_from;
	side.length_pt = fabs(al_scale_at(scale, max) - al_scale_at(scale, min));
	side.spacing_pt = fmin(request->spacing_pt, side.length_pt / 2);
	if (side.length_pt > 0 && al_ticks_find(&side, out))
		return;
	*out = (struct al_ticks){.n = 1};
	out->items[0].value = roundest(min, max, request->is_binary);
	al_ticks_label(out, request->quantity, false);
}

static double reach(const struct al_tick_request *request, const struct al_tick *tick)
{
	return request->extent_pt(request->context, tick->label) / 2;
}

/* Two labels beside the gap keep off each other. */
static bool meet(const struct al_tick_request *request, const struct al_scale *scale,
	const struct al_tick *below, const struct al_tick *above)
{
	return fabs(al_scale_at(scale, above->value) - al_scale_at(scale, below->value))
		< reach(request, below) + reach(request, above) + request->gap_pt;
}

void al_gap_find_ticks(const struct al_tick_request *request, const struct al_scale *scale,
	struct al_ticks *out)
{
	struct al_ticks above;

	find_side(request, scale, scale->min, scale->gap_from, out);
	find_side(request, scale, scale->gap_to, scale->max, &above);
	while (out->n > 1 && meet(request, scale, &out->items[out->n - 1], &above.items[0]))
		out->n--;
	for (size_t i = 0; i < above.n && out->n < AL_MOST_TICKS; i++)
		out->items[out->n++] = above.items[i];
}

/* ---- drawing ---- */

static const double strip_pt = 3.6, stroke_pt = 3;

/* A stroke across the axis, on each side of the strip. */
static void draw_stroke(const struct al_scene *scene, double x, double y, bool is_upright)
{
	const double across = stroke_pt, along = 1.4;
	const double dx = is_upright ? along : across, dy = is_upright ? across : along;

	al_canvas_line(scene->canvas, x - dx, y + dy, x + dx, y - dy, AL_AXIS_WIDTH_PT,
		al_color_axis);
}

static void draw_y_gap(const struct al_scene *scene, size_t panel)
{
	const struct al_box *frame = &scene->frames[panel];
	const double middle = al_scene_y(scene, panel, (scene->y.gap_from + scene->y.gap_to) / 2);
	const double top = middle - strip_pt / 2, bottom = middle + strip_pt / 2;

	al_canvas_color(scene->canvas, al_color_white);
	al_canvas_fill_box(scene->canvas,
		&(struct al_box){frame->left - 1, top, frame->right, bottom});
	draw_stroke(scene, frame->left, top, false);
	draw_stroke(scene, frame->left, bottom, false);
}

static void draw_x_gap(const struct al_scene *scene, size_t panel)
{
	const struct al_box *frame = &scene->frames[panel];
	const struct al_scale *scale = &scene->x[panel];
	const double middle = al_scene_x(scene, panel, (scale->gap_from + scale->gap_to) / 2);
	const double left = middle - strip_pt / 2, right = middle + strip_pt / 2;

	al_canvas_color(scene->canvas, al_color_white);
	al_canvas_fill_box(scene->canvas,
		&(struct al_box){left, frame->top, right, frame->bottom + 1});
	draw_stroke(scene, left, frame->bottom, true);
	draw_stroke(scene, right, frame->bottom, true);
}

void al_scene_draw_gaps(const struct al_scene *scene, size_t panel)
{
	if (scene->y.is_broken)
		draw_y_gap(scene, panel);
	if (scene->x[panel].is_broken)
		draw_x_gap(scene, panel);
}
