/* Points: a marker for each row, perhaps with a label (see callouts.c). */
#include <math.h>

#include "figure/mark.h"
#include "figure/palette.h"

static const double marker_pt = 4.6, front_pt = 0.7;

static void each_point(struct al_scene *scene, size_t panel,
	void (*visit)(struct al_scene *scene, size_t panel, size_t series,
		const struct al_point *point, double x, double y, void *context),
	void *context)
{
	for (size_t series = 0; series < scene->plot->n_series; series++) {
		const struct al_points *points = al_plot_points(scene->plot, panel, series);
		for (size_t i = 0; i < points->n; i++)
			if (!isnan(points->items[i].y)
				&& al_scene_holds(scene, panel, &points->items[i]))
				visit(scene, panel, series, &points->items[i],
					al_scene_x(scene, panel, points->items[i].x),
					al_scene_y(scene, panel, points->items[i].y), context);
	}
}

static void draw_point(struct al_scene *scene, size_t panel, size_t series,
	const struct al_point *point, double x, double y, void *context)
{
	const size_t look = scene->plot->looks[series];
	const struct al_color color = point->is_dominated ? al_color_dominated
							  : al_series_color(look);

	(void)context;
	al_scene_draw_error_bar(scene, panel, point, x, color);
	if (point->is_dominated)
		al_series_draw_open_marker(scene->canvas, look, color, x, y, marker_pt);
	else
		al_series_draw_marker(scene->canvas, look, x, y, marker_pt);
}

static void draw_front(struct al_scene *scene, size_t panel)
{
	const struct al_front *fronts = scene->plot->fronts;
	struct al_segment steps[2];

	for (size_t i = 0; fronts && i + 1 < fronts[panel].n; i++)
		for (size_t j = 0; j < al_front_steps(scene, panel, i, steps); j++)
			al_canvas_line(scene->canvas, steps[j].x0, steps[j].y0, steps[j].x1,
				steps[j].y1, front_pt, al_color_axis);
}

static void draw(struct al_scene *scene, size_t panel)
{
	draw_front(scene, panel);
	each_point(scene, panel, draw_point, NULL);
}

static void avoid_point(struct al_scene *scene, size_t panel, size_t series,
	const struct al_point *point, double x, double y, void *obstacles)
{
	const double radius = 0.6 * marker_pt;

	(void)series;
	al_scene_avoid_error_bar(scene, panel, point, x, obstacles);
	al_obstacles_add_box(scene, obstacles,
		(struct al_box){x - radius, y - radius, x + radius, y + radius});
}

static void avoid(struct al_scene *scene, size_t panel, struct al_obstacles *obstacles)
{
	const struct al_front *fronts = scene->plot->fronts;
	struct al_segment steps[2];

	for (size_t i = 0; fronts && i + 1 < fronts[panel].n; i++)
		for (size_t j = 0; j < al_front_steps(scene, panel, i, steps); j++)
			al_obstacles_add_segment(scene, obstacles, steps[j]);
	each_point(scene, panel, avoid_point, obstacles);
}

static void draw_key(const struct al_scene *scene, size_t series, const struct al_box *box)
{
	al_series_draw_marker(scene->canvas, scene->plot->looks[series],
		(box->left + box->right) / 2, (box->top + box->bottom) / 2, marker_pt);
}

const struct al_mark al_mark_point = {
	.name = "point",
	.takes_labels = true,
	.key_pt = 6,
	.draw = draw,
	.avoid = avoid,
	.draw_key = draw_key,
};
