/* Bars: one slot for each value of x; series side by side in it, or columns stacked. They are
 * upright, or horizontal where x runs down the page. */

#include "figure/mark.h"
#include "figure/palette.h"

static const double filled_share = 0.82; /* the part of a slot that its bars fill */
static const double widest_bar_pt = 28;

struct stack {
	double above, below; /* heights so far, in the column's units */
};

/* Where bars begin: zero, or the end of the axis that is nearest to it. */
static double base_of(const struct al_scene *scene, size_t panel)
{
	const struct al_scale *y = &scene->y[panel].scale;

	return y->is_log ? y->min : fmin(y->max, fmax(y->min, 0));
}

static struct al_box bar_box(const struct al_scene *scene, const struct al_point *point,
	double from, double to)
{
	const size_t panel = point->panel;
	const struct al_plot *plot = scene->plot;
	size_t n = plot->figure->n_stacked || plot->names_series ? 1 : plot->n_series;
	double width = fmin(widest_bar_pt, filled_share * al_scene_slot_pt(scene) / (double)n);
	double left = al_scene_x(scene, panel, point->x) - width * (double)n / 2
		+ (n > 1 ? width * (double)point->series : 0);
	double y0 = al_scene_clamped_y(scene, panel, from),
	       y1 = al_scene_clamped_y(scene, panel, to);
	double air = n > 1 ? fmin(0.4, 0.1 * width) : 0;

	const double right = left + width - air / 2;
	left += air / 2;
	if (plot->figure->is_horizontal)
		return (struct al_box){fmin(y0, y1), left, fmax(y0, y1), right};
	return (struct al_box){left, fmin(y0, y1), right, fmax(y0, y1)};
}

/* Along x. */
static double middle_of(const struct al_scene *scene, const struct al_box *box)
{
	return scene->plot->figure->is_horizontal ? (box->top + box->bottom) / 2
						  : (box->left + box->right) / 2;
}

/* The bars of a panel, the first series first: each is drawn or, for labels, an obstacle. */
static void each_bar(const struct al_scene *scene, size_t panel, struct al_obstacles *obstacles)
{
	const struct al_points points = al_points_of_panel(&scene->plot->points, panel);
	bool is_stacked = scene->plot->figure->n_stacked > 0;
	struct stack stacks[AL_MOST_CATEGORIES] = {0};

	for (size_t i = 0; i < points.n; i++) {
		const struct al_point *p = &points.items[i];
		struct stack *stack = &stacks[(size_t)p->x];
		double *height = p->y < 0 ? &stack->below : &stack->above;
		double from = is_stacked ? *height : base_of(scene, panel);
		if (isnan(p->y))
			continue;
		*height += p->y;
		const struct al_box box = bar_box(scene, p, from, is_stacked ? *height : p->y);
		const double middle = middle_of(scene, &box);
		if (obstacles) {
			al_scene_avoid_error_bar(obstacles, p, middle);
			al_obstacles_add_box(obstacles, box);
			continue;
		}
		al_series_draw_bar(scene->canvas, scene->plot->looks[p->series], &box);
		al_scene_draw_error_bar(scene, p, middle, al_color_ink);
	}
}

/* The ends of a stack: its positive parts above, its negative ones below. */
static struct al_spot find_end(const struct al_scene *scene, const struct al_point *point)
{
	const struct al_points points = al_points_of_panel(&scene->plot->points, point->panel);
	const bool is_stacked = scene->plot->figure->n_stacked > 0;
	double end = is_stacked ? 0 : point->y;

	for (size_t i = 0; is_stacked && i < points.n; i++)
		if (points.items[i].x == point->x && points.items[i].y > 0)
			end += points.items[i].y;
	const struct al_box box = bar_box(scene, point, base_of(scene, point->panel), end);
	const double along = al_scene_clamped_y(scene, point->panel, end);
	const double across = middle_of(scene, &box);
	return scene->plot->figure->is_horizontal ? (struct al_spot){along, across}
						  : (struct al_spot){across, along};
}

static void draw(struct al_scene *scene, size_t panel)
{
	each_bar(scene, panel, NULL);
}

static void avoid(struct al_obstacles *obstacles)
{
	each_bar(obstacles->scene, obstacles->panel, obstacles);
}

static void draw_key(const struct al_scene *scene, size_t series, const struct al_box *box)
{
	struct al_box swatch = {box->left, box->top + 0.8, box->right, box->bottom - 0.8};

	al_series_draw_bar(scene->canvas, scene->plot->looks[series], &swatch);
}

const struct al_mark al_mark_bar = {
	.has_slots = true,
	.stands_on_zero = true,
	.can_stack = true,
	.key_pt = 11,
	.draw = draw,
	.avoid = avoid,
	.find_end = find_end,
	.draw_key = draw_key,
};
