/* Lines: series joined in the order of x, with sparse markers that are staggered from series to
 * series, so that two lines that coincide both show. */

#include "figure/mark.h"
#include "figure/palette.h"

static const double width_pt = 1.1, mean_width_pt = 1.6, strand_width_pt = 0.35, marker_pt = 4;

/* A series with few points shows them all; a curve gets a marker about every so often. */
enum { FEW_POINTS = 12, MOST_MARKERS = 7 };
static const double marker_spacing_pt = 36;

/* A point nearer than this to the one before it looks like the same point. */
static const double least_step_pt = 0.2, strand_step_pt = 1.5;

/* The most strands of a series that are drawn: more can't be distinguished. */
enum { MOST_STRANDS = 32 };

struct pen {
	struct al_spot from; /* the value before */
	bool has_value; /* not behind a gap */
	struct al_spot at; /* where the stroke is */
	bool is_down;
	double least_step_pt;
};

static void stroke_to(cairo_t *cr, struct pen *pen, const struct al_segment *s)
{
	if (!pen->is_down || s->x0 != pen->at.x || s->y0 != pen->at.y)
		cairo_move_to(cr, s->x0, s->y0);
	cairo_line_to(cr, s->x1, s->y1);
	pen->at = (struct al_spot){s->x1, s->y1};
	pen->is_down = true;
}

/* Ends the stroke at a gap and at the frame; leaves out invisible steps. */
static void move(cairo_t *cr, const struct al_box *frame, struct pen *pen, struct al_spot to,
	bool is_last)
{
	struct al_segment s = {pen->from.x, pen->from.y, to.x, to.y};

	if (isnan(to.y)) {
		pen->has_value = pen->is_down = false;
		return;
	}
	if (pen->has_value && !is_last && fabs(to.x - pen->from.x) < pen->least_step_pt
		&& fabs(to.y - pen->from.y) < pen->least_step_pt)
		return;
	if (pen->has_value && al_segment_clip(&s, frame))
		stroke_to(cr, pen, &s);
	pen->from = to;
	pen->has_value = true;
}

static void trace(const struct al_scene *scene, const struct al_points points, double step_pt)
{
	struct pen pen = {.least_step_pt = step_pt};

	for (size_t i = 0; i < points.n; i++) {
		const struct al_point *p = &points.items[i];
		move(scene->canvas->cr, &scene->frames[p->panel], &pen, al_scene_at(scene, p),
			i + 1 == points.n || isnan(p[1].y));
	}
}

static void stroke_line(const struct al_scene *scene, size_t panel, size_t series, double width,
	struct al_color color)
{
	trace(scene, al_points_of_series(&scene->plot->points, panel, series), least_step_pt);
	al_canvas_color(scene->canvas, color);
	cairo_set_line_width(scene->canvas->cr, width);
	al_canvas_stroke(scene->canvas);
}

static void draw_line(const struct al_scene *scene, size_t panel, size_t series)
{
	const size_t look = scene->plot->looks[series];

	al_series_set_dash(scene->canvas, look);
	stroke_line(scene, panel, series,
		scene->plot->figure->strands.column ? mean_width_pt : width_pt,
		al_series_color(look));
	cairo_set_dash(scene->canvas->cr, NULL, 0, 0);
}

/* ---- strands ---- */

static size_t strand_length(const struct al_points *points, size_t first)
{
	size_t n = 1;

	while (first + n < points->n
		&& points->items[first + n].strand == points->items[first].strand)
		n++;
	return n;
}

static size_t count_strands(const struct al_points *points)
{
	size_t n = 0;

	for (size_t first = 0; first < points->n; n++)
		first += strand_length(points, first);
	return n;
}

/* All of them, or every so many-th. */
static void draw_strands(const struct al_scene *scene, size_t panel, size_t series)
{
	const struct al_points points = al_points_of_series(&scene->plot->strands, panel, series);
	cairo_t *cr = scene->canvas->cr;
	size_t stride = (count_strands(&points) + MOST_STRANDS - 1) / MOST_STRANDS, i = 0, n;

	al_canvas_color(scene->canvas, al_series_tint(scene->plot->looks[series]));
	cairo_set_line_width(cr, strand_width_pt);
	for (size_t first = 0; first < points.n; first += n, i++) {
		n = strand_length(&points, first);
		if (i % stride != 0)
			continue;
		trace(scene, (struct al_points){points.items + first, n}, strand_step_pt);
		al_canvas_stroke(scene->canvas);
	}
}

/* Strands and bands are drawn first, so that the means lie above them; a white rim sets a mean off
 * from the strands behind it. */
static void draw_behind(const struct al_scene *scene, size_t panel)
{
	size_t n = scene->plot->figure->strands.column ? scene->plot->n_series : 0;

	for (size_t series = n; series-- > 0;)
		if (!al_plot_is_band(scene->plot, series))
			draw_strands(scene, panel, series);
	for (size_t series = 0; series < n; series++)
		if (al_plot_is_band(scene->plot, series))
			al_scene_draw_strand_band(scene, panel, series);
	for (size_t series = 0; series < n; series++)
		if (!al_plot_is_band(scene->plot, series))
			stroke_line(scene, panel, series, 2 * mean_width_pt, al_color_white);
}

/* ---- markers ---- */

/* The point nearest to a place along x. */
static const struct al_point *nearest(const struct al_scene *scene, const struct al_points *points,
	double x_pt)
{
	const struct al_point *best = points->items;
	double distance = INFINITY;

	for (size_t i = 0; i < points->n; i++) {
		double d = fabs(al_scene_at(scene, &points->items[i]).x - x_pt);
		if (d < distance && !isnan(points->items[i].y)) {
			distance = d;
			best = &points->items[i];
		}
	}
	return best;
}

static void draw_marker(const struct al_scene *scene, const struct al_point *point, double size_pt)
{
	const struct al_spot at = al_scene_at(scene, point);

	if (al_scene_holds(scene, point))
		al_series_draw_marker(scene->canvas, scene->plot->looks[point->series], at.x, at.y,
			size_pt);
}

/* A marker on the same place as an earlier series' is smaller: that one shows as a rim. */
static double marker_size(const struct al_scene *scene, const struct al_point *point)
{
	const double y = al_scene_at(scene, point).y;
	double size = marker_pt;

	for (size_t earlier = 0; earlier < point->series; earlier++) {
		const struct al_points points = al_points_of_series(&scene->plot->points,
			point->panel, earlier);
		for (size_t i = 0; i < points.n && points.n <= FEW_POINTS; i++)
			if (points.items[i].x == point->x
				&& fabs(al_scene_at(scene, &points.items[i]).y - y) < 1)
				size *= 0.62;
	}
	return size;
}

static size_t common_divisor(size_t a, size_t b)
{
	return b == 0 ? a : common_divisor(b, a % b);
}

/* Which of n places a series' markers take between those of the others: neighbors in the list,
 * which tend to be neighbors in the plot, are far apart. */
static size_t stagger(size_t series, size_t n)
{
	size_t stride = (size_t)fmax(1, round(0.382 * (double)n));

	while (common_divisor(n, stride) != 1)
		stride++;
	return series * stride % n;
}

static void draw_sparse_markers(const struct al_scene *scene, const struct al_points *points)
{
	const size_t series = points->items[0].series, n_series = scene->plot->n_series;
	double first = al_scene_at(scene, &points->items[0]).x;
	double width = al_scene_at(scene, &points->items[points->n - 1]).x - first;
	double n = fmax(3, fmin(MOST_MARKERS, round(width / marker_spacing_pt)));
	double shift = ((double)stagger(series, n_series) + 0.5) / (double)n_series;

	for (double i = 0; i < n; i++)
		draw_marker(scene, nearest(scene, points, first + width * (i + shift) / n),
			marker_pt);
}

/* With their error bars. */
static void draw_markers(const struct al_scene *scene, size_t panel, size_t series)
{
	const struct al_points points = al_points_of_series(&scene->plot->points, panel, series);
	const struct al_color color = al_series_color(scene->plot->looks[series]);

	for (size_t i = 0; i < points.n; i++)
		if (al_scene_holds(scene, &points.items[i]))
			al_scene_draw_error_bar(scene, &points.items[i],
				al_scene_at(scene, &points.items[i]).x, color);
	if (points.n > FEW_POINTS)
		draw_sparse_markers(scene, &points);
	for (size_t i = 0; i < points.n && points.n <= FEW_POINTS; i++)
		draw_marker(scene, &points.items[i], marker_size(scene, &points.items[i]));
}

static double coverage(const struct al_scene *scene, size_t series)
{
	return al_series_coverage(scene->plot->looks[series]);
}

/* Solid lines first: the gaps of a dashed one show what lies below. */
static size_t by_coverage(const struct al_scene *scene, size_t order[AL_MOST_SERIES])
{
	size_t n = scene->plot->n_series;

	for (size_t series = 0; series < n; series++) {
		size_t at = series;
		while (at > 0 && coverage(scene, order[at - 1]) < coverage(scene, series)) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = series;
	}
	return n;
}

static void draw(struct al_scene *scene, size_t panel)
{
	size_t order[AL_MOST_SERIES];
	size_t n = by_coverage(scene, order);

	cairo_set_line_join(scene->canvas->cr, CAIRO_LINE_JOIN_ROUND);
	al_scene_draw_bands(scene, panel);
	draw_behind(scene, panel);
	for (size_t i = 0; i < n; i++)
		if (!al_plot_is_band(scene->plot, order[i]))
			draw_line(scene, panel, order[i]);
	for (size_t series = 0; series < n; series++)
		if (!al_plot_is_band(scene->plot, series))
			draw_markers(scene, panel, series);
}

static void avoid(struct al_obstacles *obstacles)
{
	const struct al_scene *scene = obstacles->scene;
	const struct al_points points = al_points_of_panel(&scene->plot->points, obstacles->panel);
	struct al_spot from = {0};

	for (size_t i = 0; i < points.n; i++) {
		const struct al_point *p = &points.items[i];
		const struct al_spot to = al_scene_at(scene, p);
		if (i == 0 || p->series != p[-1].series)
			from = to;
		if (!isnan(from.y) && !isnan(to.y))
			al_obstacles_add_segment(obstacles,
				(struct al_segment){from.x, from.y, to.x, to.y});
		al_scene_avoid_error_bar(obstacles, p, to.x);
		from = to;
	}
}

static void draw_key(const struct al_scene *scene, size_t series, const struct al_box *box)
{
	const struct al_box swatch = {box->left, box->top + 0.8, box->right, box->bottom - 0.8};
	const size_t look = scene->plot->looks[series];
	struct al_canvas *canvas = scene->canvas;
	double y = (box->top + box->bottom) / 2;

	if (al_plot_is_band(scene->plot, series)) {
		al_series_set_glass(canvas, look);
		al_canvas_fill_box(canvas, &swatch);
		return;
	}
	al_series_set_dash(canvas, look);
	al_canvas_line(canvas, box->left, y, box->right, y,
		scene->plot->figure->strands.column ? mean_width_pt : width_pt,
		al_series_color(look));
	al_series_draw_marker(canvas, look, (box->left + box->right) / 2, y, marker_pt);
}

const struct al_mark al_mark_line = {
	.joins = true,
	.key_pt = 22,
	.draw = draw,
	.avoid = avoid,
	.draw_key = draw_key,
};
