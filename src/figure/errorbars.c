/* Error bars: how far the spread of a datum reaches above and below it. */

#include "figure/mark.h"

static const double stem_pt = 0.7, cap_pt = 3.2;

static bool has_bar(const struct al_scene *scene, const struct al_point *point)
{
	return !scene->plot->figure->strands.column && !isnan(point->y) && point->high > point->low;
}

void al_scene_draw_error_bar(const struct al_scene *scene, const struct al_point *point,
	double x_pt, struct al_color color)
{
	if (!has_bar(scene, point))
		return;
	const double low = al_scene_clamped_y(scene, point->panel, point->low),
		     high = al_scene_clamped_y(scene, point->panel, point->high);
	const double left = x_pt - cap_pt / 2, right = x_pt + cap_pt / 2;

	al_canvas_line(scene->canvas, x_pt, low, x_pt, high, stem_pt, color);
	if (point->low >= scene->y[point->panel].scale.min)
		al_canvas_line(scene->canvas, left, low, right, low, stem_pt, color);
	if (point->high <= scene->y[point->panel].scale.max)
		al_canvas_line(scene->canvas, left, high, right, high, stem_pt, color);
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
