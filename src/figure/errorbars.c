/* Error bars: how far the spread of a datum reaches above and below it. */

#include "figure/mark.h"

static const double stem_pt = 0.7, cap_pt = 3.2;

static bool has_bar(const struct al_scene *scene, const struct al_point *point)
{
	return !scene->plot->figure->strands.column && !isnan(point->y) && point->high > point->low;
}

/* From (across, along) to (across, along), x and y of the page or, of horizontal bars, y and x. */
static void draw_line(const struct al_scene *scene, double x0, double y0, double x1, double y1,
	struct al_color color)
{
	if (scene->plot->figure->is_horizontal)
		al_canvas_line(scene->canvas, y0, x0, y1, x1, stem_pt, color);
	else
		al_canvas_line(scene->canvas, x0, y0, x1, y1, stem_pt, color);
}

void al_scene_draw_error_bar(const struct al_scene *scene, const struct al_point *point,
	double x_pt, struct al_color color)
{
	if (!has_bar(scene, point))
		return;
	const struct al_scale *y = &scene->y[point->panel].scale;
	const double low = al_scene_clamped_y(scene, point->panel, point->low),
		     high = al_scene_clamped_y(scene, point->panel, point->high);
	const double left = x_pt - cap_pt / 2, right = x_pt + cap_pt / 2;

	draw_line(scene, x_pt, low, x_pt, high, color);
	if (point->low >= y->min)
		draw_line(scene, left, low, right, low, color);
	if (point->high <= y->max)
		draw_line(scene, left, high, right, high, color);
}

void al_scene_avoid_error_bar(struct al_obstacles *obstacles, const struct al_point *point,
	double x_pt)
{
	const struct al_scene *scene = obstacles->scene;

	if (has_bar(scene, point))
		al_obstacles_add_box(obstacles,
			(struct al_box){x_pt - cap_pt / 2,
				al_scene_clamped_y(scene, point->panel, point->high),
				x_pt + cap_pt / 2,
				al_scene_clamped_y(scene, point->panel, point->low)});
}
