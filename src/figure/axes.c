/* Axes: a muted grid behind the marks, two thin spines and their ticks before them. */
#include "figure/mark.h"

/* Across the frame at a value of y. */
static void draw_level(const struct al_scene *scene, size_t panel, double value, double width_pt,
	struct al_color color)
{
	const struct al_box *frame = &scene->frames[panel];
	const double at = al_scene_y(scene, panel, value);

	if (scene->plot->figure->is_horizontal)
		al_canvas_line(scene->canvas, at, frame->top, at, frame->bottom, width_pt, color);
	else
		al_canvas_line(scene->canvas, frame->left, at, frame->right, at, width_pt, color);
}

static void draw_grid(const struct al_scene *scene, size_t panel)
{
	const struct al_ticks *ticks = &scene->y[panel].ticks;

	for (size_t i = 0; i < ticks->n; i++)
		draw_level(scene, panel, ticks->items[i].value, 0.4, al_color_grid);
}

static void draw_references(const struct al_scene *scene, size_t panel)
{
	static const double dashes[] = {3, 2};
	const struct al_figure *figure = scene->plot->figure;

	cairo_set_dash(scene->canvas->cr, dashes, 2, 0);
	for (size_t i = 0; i < figure->n_references; i++) {
		const double value = figure->references[i].value;
		if (value >= scene->y[panel].scale.min && value <= scene->y[panel].scale.max)
			draw_level(scene, panel, value, 0.7, al_color_axis);
	}
	cairo_set_dash(scene->canvas->cr, NULL, 0, 0);
}

void al_scene_draw_back(const struct al_scene *scene, size_t panel)
{
	if (!scene->plot->mark->has_cells)
		draw_grid(scene, panel);
	draw_references(scene, panel);
}

static void draw_tick(const struct al_scene *scene, size_t panel, bool is_x, double value,
	double length_pt)
{
	const struct al_box *frame = &scene->frames[panel];
	const double at = is_x ? al_scene_x(scene, panel, value) : al_scene_y(scene, panel, value);

	if (is_x != scene->plot->figure->is_horizontal)
		al_canvas_line(scene->canvas, at, frame->bottom, at, frame->bottom + length_pt,
			AL_AXIS_WIDTH_PT, al_color_axis);
	else
		al_canvas_line(scene->canvas, frame->left - length_pt, at, frame->left, at,
			AL_AXIS_WIDTH_PT, al_color_axis);
}

static void draw_ticks(const struct al_scene *scene, size_t panel, bool is_x)
{
	const struct al_ticks *ticks = is_x ? &scene->x[panel].ticks : &scene->y[panel].ticks;

	for (size_t i = 0; i < ticks->n; i++)
		draw_tick(scene, panel, is_x, ticks->items[i].value, AL_TICK_PT);
	for (size_t i = 0; i < ticks->n_minor; i++)
		draw_tick(scene, panel, is_x, ticks->minor[i], AL_TICK_PT / 2);
}

/* One path down the left side and along the bottom. */
static void draw_spines(const struct al_scene *scene, const struct al_box *frame)
{
	cairo_t *cr = scene->canvas->cr;

	al_canvas_color(scene->canvas, al_color_axis);
	cairo_set_line_width(cr, AL_AXIS_WIDTH_PT);
	cairo_move_to(cr, frame->left, frame->top);
	cairo_line_to(cr, frame->left, frame->bottom);
	cairo_line_to(cr, frame->right, frame->bottom);
	al_canvas_stroke(scene->canvas);
}

/* Draws a line at zero for bars that reach to both sides of it. */
static void draw_zero(const struct al_scene *scene, size_t panel)
{
	const struct al_scale *y = &scene->y[panel].scale;

	if (scene->plot->mark->stands_on_zero && !y->is_log && y->min < 0 && y->max > 0)
		draw_level(scene, panel, 0, AL_AXIS_WIDTH_PT, al_color_axis);
}

void al_scene_draw_axes(const struct al_scene *scene, size_t panel)
{
	draw_zero(scene, panel);
	draw_spines(scene, &scene->frames[panel]);
	draw_ticks(scene, panel, true);
	draw_ticks(scene, panel, false);
}
