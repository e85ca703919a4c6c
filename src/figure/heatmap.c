/* Heat maps: a colored cell for each pair of whole numbers; a missing one is hatched. */

#include "figure/mark.h"
#include "figure/palette.h"

static const double hatch_pt = 2.4, least_scale = 0.5, least_dash_pt = 1;

/* Colors of a map; how many about the middle look white. */
enum { STEPS = 100, NEAR_ZERO = 4 };

static struct al_box cell_box(const struct al_scene *scene, const struct al_point *p)
{
	const size_t panel = p->panel;

	return (struct al_box){al_scene_x(scene, panel, p->x - 0.5),
		al_scene_y(scene, panel, p->y + 0.5), al_scene_x(scene, panel, p->x + 0.5),
		al_scene_y(scene, panel, p->y - 0.5)};
}

/* Lines that rise to the right, clipped to the cell. */
static void hatch(struct al_canvas *canvas, const struct al_box *box)
{
	double height = box->bottom - box->top;

	al_canvas_begin_clip(canvas, box);
	for (double x = box->left - height; x < box->right; x += hatch_pt)
		al_canvas_line(canvas, x, box->bottom, x + height, box->top, 0.4, al_color_leader);
	al_canvas_end_clip(canvas);
}

/* A little wider than the cell: between exact neighbors viewers leave a hairline. What exceeds the
 * frame is clipped. */
static void trace(struct al_canvas *canvas, const struct al_box *box)
{
	const double bleed = 0.1;

	cairo_rectangle(canvas->cr, box->left - bleed, box->top - bleed,
		box->right - box->left + 2 * bleed, box->bottom - box->top + 2 * bleed);
}

/* Luminance as sRGB weighs it. */
static struct al_color ink_on(struct al_color back)
{
	struct al_color ink = 0.2126 * back.red + 0.7152 * back.green + 0.0722 * back.blue > 0.45
		? al_color_ink
		: al_color_white;

	ink.is_value = true; /* as the cell is */
	return ink;
}

/* "1.00", ".12", "-.12": no room is lost on a zero. */
static void print_value(char *text, size_t room, double value)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%.2f", fabs(value));
	snprintf(text, room, "%s%s", value < 0 && strcmp(digits, "0.00") != 0 ? "\u2212" : "",
		digits + (digits[0] == '0'));
}

/* As large as the cell takes, at most in the size of ticks. Where the cell is too small to read,
 * nothing. */
static void write_value(struct al_canvas *canvas, const struct al_box *box, double value,
	struct al_color back)
{
	char text[40];

	print_value(text, sizeof(text), value);
	struct al_label label = al_tick_label(text);
	const struct al_size size = al_label_measure(canvas, &label);
	const double scale = fmin(1,
		0.92
			* fmin((box->right - box->left) / size.width_pt,
				(box->bottom - box->top) / size.height_pt));
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

/* A dash where the number is negative, for print in gray: two hues of one lightness look alike. */
static void sign(struct al_canvas *canvas, const struct al_box *box, struct al_color back)
{
	const double half = (box->right - box->left) / 5, x = (box->left + box->right) / 2;
	const double y = (box->top + box->bottom) / 2;

	if (half >= least_dash_pt)
		al_canvas_line(canvas, x - half, y, x + half, y, 0.5, ink_on(back));
}

/* The step of the color bar that a cell has. */
static int step_of(const struct al_scene *scene, double value)
{
	const struct al_dimension *color = &scene->plot->color;
	const double share = (value - color->min) / (color->max - color->min);

	return (int)lround(fmin(1, fmax(0, share)) * STEPS);
}

static struct al_color color_of(const struct al_scene *scene, int step)
{
	return al_ramp_color((double)step / STEPS, scene->plot->figure->is_diverging);
}

/* The text on a cell. */
static void annotate(struct al_scene *scene, const struct al_box *box, double value)
{
	const int step = step_of(scene, value);

	if (scene->plot->figure->writes_values)
		write_value(scene->canvas, box, value, color_of(scene, step));
	else if (scene->plot->figure->is_diverging && step < STEPS / 2 - NEAR_ZERO)
		sign(scene->canvas, box, color_of(scene, step));
}

static bool is_cell(const struct al_scene *scene, const struct al_point *point)
{
	return !isnan(point->y) && !(scene->plot->figure->leaves_diagonal && point->x == point->y);
}

static bool has_step(const struct al_scene *scene, const struct al_point *point, int step)
{
	return is_cell(scene, point) && !isnan(point->color)
		&& step_of(scene, point->color) == step;
}

/* How many cells from this one on are above each other, or else side by side, and have this
 * color. */
static size_t run_length(const struct al_scene *scene, const struct al_points *points, size_t first,
	int step)
{
	const struct al_point *p = &points->items[first];
	size_t n = 1;

	if (first + 1 == points->n)
		return 1;
	const double dx = p[1].x - p->x, dy = p[1].y - p->y;
	if (!(dx == 0 && dy == 1) && !(dx == 1 && dy == 0))
		return 1;
	while (first + n < points->n && has_step(scene, &p[n], step) && p[n].x - p[n - 1].x == dx
		&& p[n].y - p[n - 1].y == dy)
		n++;
	return n;
}

/* All cells of one color at once, and neighbors as one box: a map of many is small then. */
static void fill_step(struct al_scene *scene, const struct al_points *points, int step)
{
	bool is_any = false;

	for (size_t i = 0; i < points->n; i++) {
		if (!has_step(scene, &points->items[i], step))
			continue;
		const size_t last = i + run_length(scene, points, i, step) - 1;
		struct al_box box = cell_box(scene, &points->items[i]);
		const struct al_box end = cell_box(scene, &points->items[last]);
		box.top = end.top;
		box.right = end.right;
		trace(scene->canvas, &box);
		i = last;
		is_any = true;
	}
	if (!is_any)
		return;
	al_canvas_color(scene->canvas, color_of(scene, step));
	al_canvas_fill(scene->canvas);
}

static void draw(struct al_scene *scene, size_t panel)
{
	const struct al_points points = al_points_of_panel(&scene->plot->points, panel);

	al_canvas_begin_clip(scene->canvas, &scene->frames[panel]);
	for (int step = 0; step <= STEPS; step++)
		fill_step(scene, &points, step);
	for (size_t i = 0; i < points.n; i++) {
		const struct al_point *point = &points.items[i];
		const struct al_box box = cell_box(scene, point);
		if (!is_cell(scene, point))
			continue;
		if (isnan(point->color))
			hatch(scene->canvas, &box);
		else
			annotate(scene, &box, point->color);
	}
	al_canvas_end_clip(scene->canvas);
}

const struct al_mark al_mark_heatmap = {
	.has_cells = true,
	.draw = draw,
};
