/* Points: a marker for each row, perhaps with a label (see callouts.c). */
#include <math.h>

#include "figure/mark.h"
#include "figure/palette.h"

static const double marker_pt = 4.6;

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
	(void)context;
	al_scene_draw_error_bar(scene, panel, point, x,
		al_series_color(scene->plot->looks[series]));
	al_series_draw_marker(scene->canvas, scene->plot->looks[series], x, y, marker_pt);
}

static void draw(struct al_scene *scene, size_t panel)
{
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
