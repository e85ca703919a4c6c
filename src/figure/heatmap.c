/* Heat maps: a coloured cell for each pair of whole numbers; a missing one is hatched. */
#include <math.h>
#include <stdio.h>

#include "figure/mark.h"
#include "figure/palette.h"

static const double hatch_pt = 2.4, least_scale = 0.5;

static struct al_box cell_box(const struct al_scene *scene, size_t panel, const struct al_point *p)
{
	return (struct al_box){al_scene_x(scene, panel, p->x - 0.5), al_scene_y(scene, p->y + 0.5),
		al_scene_x(scene, panel, p->x + 0.5), al_scene_y(scene, p->y - 0.5)};
}

/* Lines that rise to the right, clipped to the cell. */
static void hatch(struct al_canvas *canvas, const struct al_box *box)
{
	double height = box->bottom - box->top;

	cairo_save(canvas->cr);
	cairo_rectangle(canvas->cr, box->left, box->top, box->right - box->left, height);
	cairo_clip(canvas->cr);
	for (double x = box->left - height; x < box->right; x += hatch_pt)
		al_canvas_line(canvas, x, box->bottom, x + height, box->top, 0.4, al_color_leader);
	cairo_restore(canvas->cr);
}

/* A little wider than the cell: between exact neighbours viewers leave a hairline. What stands out
 * of the frame is clipped. */
static void fill(struct al_canvas *canvas, const struct al_box *box, struct al_color color)
{
	const double bleed = 0.1;

	al_canvas_color(canvas, color);
	cairo_rectangle(canvas->cr, box->left - bleed, box->top - bleed,
		box->right - box->left + 2 * bleed, box->bottom - box->top + 2 * bleed);
	cairo_fill(canvas->cr);
}

/* Luminance as sRGB weighs it. */
static struct al_color ink_on(struct al_color back)
{
	return 0.2126 * back.red + 0.7152 * back.green + 0.0722 * back.blue > 0.45 ? al_color_ink
										   : al_color_white;
}

/* "1.00", ".12", "-.12": no room is lost on a zero. */
static void print_value(char *text, size_t room, double value)
{
	const double size = fabs(value) < 0.005 ? 0 : fabs(value);
	char digits[32];

	snprintf(digits, sizeof(digits), "%.2f", size);
	snprintf(text, room, "%s%s", value < 0 && size > 0 ? "\u2212" : "",
		digits + (digits[0] == '0'));
}

/* As large as the cell takes, at most in the size of ticks. Where the cell is too small to read,
 * nothing. */
static void write_value(struct al_canvas *canvas, const struct al_box *box, double value,
	struct al_color back)
{
	char text[40];
	double width, height;

	print_value(text, sizeof(text), value);
	struct al_label label = al_tick_label(text);
	al_label_measure(canvas, &label, &width, &height);
	const double scale = fmin(1,
		0.92 * fmin((box->right - box->left) / width, (box->bottom - box->top) / height));
	if (scale < least_scale)
		return;
	label.color = ink_on(back);
	cairo_save(canvas->cr);
	cairo_translate(canvas->cr, (box->left + box->right) / 2, (box->top + box->bottom) / 2);
	cairo_scale(canvas->cr, scale, scale);
	al_label_put(canvas, &label, 0, 0, 0.5, 0.5);
	al_label_draw(canvas, &label);
	cairo_restore(canvas->cr);
}

static void draw_cell(struct al_scene *scene, size_t panel, const struct al_point *point)
{
	const struct al_dimension *color = &scene->plot->color;
	struct al_box box = cell_box(scene, panel, point);

	if (isnan(point->color)) {
		hatch(scene->canvas, &box);
		return;
	}
	const struct al_color back = al_ramp_color((point->color - color->min)
			/ (color->max - color->min),
		scene->plot->figure->is_diverging);
	fill(scene->canvas, &box, back);
	if (scene->plot->figure->writes_values)
		write_value(scene->canvas, &box, point->color, back);
}

static void draw(struct al_scene *scene, size_t panel)
{
	al_scene_clip(scene, panel);
	for (size_t series = 0; series < scene->plot->n_series; series++) {
		const struct al_points *points = al_plot_points(scene->plot, panel, series);
		for (size_t i = 0; i < points->n; i++)
			if (!isnan(points->items[i].y))
				draw_cell(scene, panel, &points->items[i]);
	}
	cairo_restore(scene->canvas->cr);
}

static void avoid(struct al_scene *scene, size_t panel, struct al_obstacles *obstacles)
{
	al_obstacles_add_box(scene, obstacles, scene->frames[panel]);
}

static void draw_key(const struct al_scene *scene, size_t series, const struct al_box *box)
{
	al_series_draw_bar(scene->canvas, scene->plot->looks[series], box);
}

const struct al_mark al_mark_heatmap = {
	.name = "heatmap",
	.has_cells = true,
	.key_pt = 11,
	.draw = draw,
	.avoid = avoid,
	.draw_key = draw_key,
};
