/* Points: a marker for each row, perhaps with a label (see callouts.c). */

#include "figure/mark.h"
#include "figure/palette.h"

static const double marker_pt = 4.6, front_pt = 0.7;

static void draw_point(const struct al_scene *scene, const struct al_point *point)
{
	const size_t look = scene->plot->looks[point->series];
	const struct al_spot at = al_scene_at(scene, point);

	al_scene_draw_error_bar(scene, point, at.x, al_series_color(look));
	if (point->is_dominated)
		al_series_draw_open_marker(scene->canvas, look, at.x, at.y, marker_pt);
	else
		al_series_draw_marker(scene->canvas, look, at.x, at.y, marker_pt);
}

/* The dominated points lie below the others. */
static void draw(struct al_scene *scene, size_t panel)
{
	const struct al_points points = al_points_of_panel(&scene->plot->points, panel);
	struct al_segment *front;
	const size_t n = al_front_lines(scene, panel, &front);

	for (size_t i = 0; i < n; i++)
		al_canvas_line(scene->canvas, front[i].x0, front[i].y0, front[i].x1, front[i].y1,
			front_pt, al_color_axis);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < points.n; i++)
			if (points.items[i].is_dominated == (pass == 0)
				&& al_scene_holds(scene, &points.items[i]))
				draw_point(scene, &points.items[i]);
}

static void avoid_point(struct al_obstacles *obstacles, const struct al_point *point)
{
	const struct al_spot at = al_scene_at(obstacles->scene, point);
	const double radius = 0.6 * marker_pt;

	al_scene_avoid_error_bar(obstacles, point, at.x);
	al_obstacles_add_box(obstacles,
		(struct al_box){at.x - radius, at.y - radius, at.x + radius, at.y + radius});
}

static void avoid(struct al_obstacles *obstacles)
{
	const struct al_scene *scene = obstacles->scene;
	const struct al_points points = al_points_of_panel(&scene->plot->points, obstacles->panel);
	struct al_segment *front;
	const size_t n = al_front_lines(scene, obstacles->panel, &front);

	for (size_t i = 0; i < n; i++)
		al_obstacles_add_segment(obstacles, front[i]);
	for (size_t i = 0; i < points.n; i++)
		if (al_scene_holds(scene, &points.items[i]))
			avoid_point(obstacles, &points.items[i]);
}

static void draw_key(const struct al_scene *scene, size_t series, const struct al_box *box)
{
	al_series_draw_marker(scene->canvas, scene->plot->looks[series],
		(box->left + box->right) / 2, (box->top + box->bottom) / 2, marker_pt);
}

const struct al_mark al_mark_point = {
	.takes_labels = true,
	.key_pt = 6,
	.draw = draw,
	.avoid = avoid,
	.draw_key = draw_key,
};
