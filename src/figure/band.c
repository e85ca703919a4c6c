/* Bands: an area between two columns around a line, or between the lines of two series. */

#include "figure/mark.h"
#include "figure/palette.h"

static const double rim_pt = 0.35;

/* ---- which series ---- */

static bool find_series(const struct al_plot *plot, const char *name, size_t *out,
	struct al_error *err)
{
	int found = al_find_name(name, plot->series, plot->n_series);

	for (size_t i = 0; found < 0 && i < plot->n_series; i++)
		if (plot->series_texts[i] && strcmp(plot->series_texts[i], name) == 0)
			found = (int)i;
	if (found < 0)
		return al_fail_unknown(err, "series", name, plot->series, plot->n_series);
	*out = (size_t)found;
	return true;
}

/* Where both series have a number. */
static const struct al_point *partner(const struct al_points *points, double x)
{
	for (size_t i = 0; i < points->n; i++)
		if (points->items[i].x == x && !isnan(points->items[i].y))
			return &points->items[i];
	return NULL;
}

static size_t count_shared(const struct al_plot *plot, const struct al_between *between)
{
	size_t n = 0;

	for (size_t panel = 0; panel < plot->n_panels; panel++) {
		const struct al_points one = al_points_of_series(&plot->points, panel,
			between->one);
		const struct al_points other = al_points_of_series(&plot->points, panel,
			between->other);
		for (size_t i = 0; i < one.n; i++)
			n += !isnan(one.items[i].y) && partner(&other, one.items[i].x);
	}
	return n;
}

static bool find_between(const struct al_plot *plot, const struct al_band *band,
	struct al_between *out, struct al_error *err)
{
	if (!find_series(plot, band->one, &out->one, err)
		|| !find_series(plot, band->other, &out->other, err))
		return false;
	if (out->one == out->other)
		return al_fail(err, AL_EINPUT, "a band between \"%s\" and itself", band->one);
	return count_shared(plot, out) > 1
		|| al_fail(err, AL_EINPUT,
			"no band between \"%s\" and \"%s\": they share fewer than two values of x",
			band->one, band->other);
}

bool al_plot_find_bands(struct al_plot *plot, struct al_error *err)
{
	const struct al_figure *figure = plot->figure;

	plot->between = al_new_array(&plot->arena, struct al_between, figure->n_bands);
	for (size_t i = 0; i < figure->n_bands; i++)
		if (figure->bands[i].one
			&& !find_between(plot, &figure->bands[i], &plot->between[plot->n_between++],
				err))
			return false;
	return true;
}

/* ---- drawing ---- */

/* The two ends of an area at each x. */
struct edge {
	double x, low, high;
};

static void fill(const struct al_scene *scene, size_t series, const struct edge *edges, size_t n)
{
	cairo_t *cr = scene->canvas->cr;

	if (n < 2)
		return;
	for (size_t i = 0; i < n; i++)
		cairo_line_to(cr, edges[i].x, edges[i].high);
	for (size_t i = n; i-- > 0;)
		cairo_line_to(cr, edges[i].x, edges[i].low);
	cairo_close_path(cr);
	al_series_set_glass(scene->canvas, scene->plot->looks[series]);
	al_canvas_paint(scene->canvas, false);
	cairo_set_line_width(cr, rim_pt);
	al_canvas_stroke(scene->canvas);
}

/* Between what two columns hold, or the lowest and the highest strand; it ends where a value is
 * missing. */
static void draw_area(const struct al_scene *scene, size_t panel, size_t series, bool is_of_strands,
	struct edge *edges)
{
	const struct al_points points = al_points_of_series(&scene->plot->points, panel, series);
	size_t n = 0;

	for (size_t i = 0; i < points.n; i++) {
		const struct al_point *p = &points.items[i];
		const double low = is_of_strands ? p->low : p->band_low,
			     high = is_of_strands ? p->high : p->band_high;
		if (isnan(is_of_strands ? p->y : low)) {
			fill(scene, series, edges, n);
			n = 0;
			continue;
		}
		edges[n++] = (struct edge){al_scene_x(scene, panel, p->x),
			al_scene_y(scene, panel, low), al_scene_y(scene, panel, high)};
	}
	fill(scene, series, edges, n);
}

static void draw_between(const struct al_scene *scene, size_t panel,
	const struct al_between *between, struct edge *edges)
{
	const struct al_points one = al_points_of_series(&scene->plot->points, panel, between->one);
	const struct al_points other = al_points_of_series(&scene->plot->points, panel,
		between->other);
	size_t n = 0;

	for (size_t i = 0; i < one.n; i++) {
		const struct al_point *from = &one.items[i], *to = partner(&other, from->x);
		if (!isnan(from->y) && to)
			edges[n++] = (struct edge){al_scene_x(scene, panel, from->x),
				al_scene_y(scene, panel, from->y), al_scene_y(scene, panel, to->y)};
	}
	fill(scene, between->one, edges, n);
}

void al_scene_draw_bands(const struct al_scene *scene, size_t panel)
{
	const struct al_plot *plot = scene->plot;

	if (plot->figure->n_bands == 0)
		return;
	struct edge *edges = al_new_array(scene->arena, struct edge, plot->points.n);
	al_canvas_begin_clip(scene->canvas, &scene->frames[panel]);
	for (size_t series = 0; series < plot->n_series; series++)
		draw_area(scene, panel, series, false, edges);
	for (size_t i = 0; i < plot->n_between; i++)
		draw_between(scene, panel, &plot->between[i], edges);
	al_canvas_end_clip(scene->canvas);
}

void al_scene_draw_strand_band(const struct al_scene *scene, size_t panel, size_t series)
{
	al_canvas_begin_clip(scene->canvas, &scene->frames[panel]);
	draw_area(scene, panel, series, true,
		al_new_array(scene->arena, struct edge, scene->plot->points.n));
	al_canvas_end_clip(scene->canvas);
}
