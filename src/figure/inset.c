/* An inset: a part of the axes once more, enlarged, with axes of its own. It is where the frame is
 * free; a rectangle and two lines from it mark the part that it shows. */

#include "figure/mark.h"

/* ---- limits ---- */

/* How many points lie in the inset; what they reach are its limits along y, where it has none. */
static size_t take_points(const struct al_plot *plot, struct al_inset *inset)
{
	double low = INFINITY, high = -INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < plot->points.n; i++) {
		const struct al_point *p = &plot->points.items[i];
		if (isnan(p->y) || p->x < inset->x_min || p->x > inset->x_max
			|| (inset->has_y && (p->y < inset->y_min || p->y > inset->y_max)))
			continue;
		low = fmin(low, p->y);
		high = fmax(high, p->y);
		n++;
	}
	if (!inset->has_y) {
		inset->y_min = low;
		inset->y_max = high;
	}
	return n;
}

/* Some air above and below, as far as the axis goes. */
static void widen(const struct al_dimension *y, struct al_inset *inset)
{
	const double share = 0.06;
	const double room = inset->y_max > inset->y_min ? share * (inset->y_max - inset->y_min)
							: share * (y->max - y->min);
	const double low = y->is_log ? inset->y_min / (1 + share) : inset->y_min - room;
	const double high = y->is_log ? inset->y_max * (1 + share) : inset->y_max + room;

	inset->y_min = fmax(y->min, low);
	inset->y_max = fmin(y->max, high);
}

bool al_plot_bound_inset(struct al_plot *plot, struct al_error *err)
{
	struct al_inset *inset = &plot->inset;

	*inset = plot->figure->inset;
	if (!inset->is_drawn)
		return true;
	if (plot->n_panels > 1 || plot->categories)
		return al_fail(err, AL_EINPUT, "an inset needs %s",
			plot->categories ? "numbers along x" : "a figure of one panel");
	if (take_points(plot, inset) == 0)
		return al_fail(err, AL_EINPUT, "no point lies in the inset, x from %g to %g%s",
			inset->x_min, inset->x_max,
			inset->has_y ? al_format(&plot->arena, " and y from %g to %g", inset->y_min,
				inset->y_max)
				     : "");
	if (!inset->has_y)
		widen(&plot->y, inset);
	return true;
}

/* ---- its own axes ---- */

static struct al_dimension part_of(const struct al_dimension *whole, double min, double max)
{
	struct al_dimension part = *whole;

	part.min = min;
	part.max = max;
	part.is_min_fixed = part.is_max_fixed = true;
	return part;
}

/* The frame within a page that begins at (0, 0). */
static void set_frame(struct al_scene *inset, struct al_size size)
{
	const struct al_inset *limits = &inset->plot->inset;
	const double line = al_line_height(inset->canvas, AL_FONT_TICK);
	const double outside = AL_TICK_PT + AL_TICK_GAP_PT + 1;
	struct al_box *frame = &inset->frames[0];
	struct al_dimension x = part_of(&inset->plot->panel_x[0], limits->x_min, limits->x_max);
	struct al_dimension y = part_of(&inset->plot->y, limits->y_min, limits->y_max);

	frame->left = outside + al_ticks_width(inset->canvas, &inset->y->ticks);
	frame->top = line / 2 + 1;
	frame->right = size.width_pt - 1 - al_ticks_width(inset->canvas, &inset->x->ticks) / 2;
	frame->bottom = size.height_pt - outside - line;
	inset->x->scale = al_scale_of(&x, AL_INSET_PT, frame->right - frame->left - AL_INSET_PT);
	inset->y->scale = al_scale_of(&y, frame->bottom - AL_INSET_PT, frame->top + AL_INSET_PT);
	al_scene_find_ticks(inset, 0, true, &x);
	al_scene_find_ticks(inset, 0, false, &y);
}

static void move_to(struct al_scene *inset, double left, double top)
{
	struct al_box *frame = &inset->frames[0];

	*frame = (struct al_box){frame->left + left, frame->top + top, frame->right + left,
		frame->bottom + top};
	inset->y->scale.start_pt += top;
	inset->y->scale.end_pt += top;
}

static struct al_scene *make_inset(struct al_scene *scene)
{
	struct al_scene *inset = al_new_array(scene->arena, struct al_scene, 1);

	*inset = (struct al_scene){.canvas = scene->canvas,
		.plot = scene->plot,
		.arena = scene->arena,
		.least_asked_ticks = 2};
	inset->frames = al_new(scene->arena, struct al_box);
	inset->x = al_new(scene->arena, struct al_ruler);
	inset->y = al_new(scene->arena, struct al_ruler);
	return inset;
}

/* ---- its place ---- */

static struct al_box region_of(const struct al_scene *scene)
{
	const struct al_inset *limits = &scene->plot->inset;

	return (struct al_box){al_scene_x(scene, 0, limits->x_min),
		al_scene_y(scene, 0, limits->y_max), al_scene_x(scene, 0, limits->x_max),
		al_scene_y(scene, 0, limits->y_min)};
}

static struct al_box grown(const struct al_box *box, double by)
{
	return (struct al_box){box->left - by, box->top - by, box->right + by, box->bottom + by};
}

static double distance(const struct al_box *a, const struct al_box *b)
{
	return hypot(a->left + a->right - b->left - b->right,
		a->top + a->bottom - b->top - b->bottom);
}

enum { N_STATIONS = 13 };

/* The free place nearest to what is enlarged. */
static bool find_place(const struct al_obstacles *obstacles, struct al_size size,
	struct al_box *out)
{
	const struct al_scene *scene = obstacles->scene;
	const struct al_box *frame = &scene->frames[0], region = region_of(scene);
	const struct al_box near = grown(&region, 4);
	double best = INFINITY;

	for (int i = 0; i < N_STATIONS * N_STATIONS; i++) {
		const double across = (double)(i % N_STATIONS) / (N_STATIONS - 1);
		const double down = (double)(i / N_STATIONS) / (N_STATIONS - 1);
		const struct al_box box = al_box_at(size,
			frame->left + 3 + across * (frame->right - frame->left - 5),
			frame->top + 2 + down * (frame->bottom - frame->top - 5), across, down);
		if (distance(&box, &region) >= best || al_box_meets(&box, &near)
			|| !al_obstacles_leave(obstacles, &box))
			continue;
		best = distance(&box, &region);
		*out = box;
	}
	return isfinite(best);
}

/* Lines between corners of the same side that cross neither box: the outline of both. */
static size_t find_links(const struct al_box *a, const struct al_box *b, struct al_segment out[4])
{
	const struct al_box inner_a = grown(a, -0.1), inner_b = grown(b, -0.1);
	const struct al_segment all[] = {{a->left, a->top, b->left, b->top},
		{a->right, a->top, b->right, b->top}, {a->left, a->bottom, b->left, b->bottom},
		{a->right, a->bottom, b->right, b->bottom}};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!al_segment_crosses(&all[i], &inner_a)
			&& !al_segment_crosses(&all[i], &inner_b))
			out[n++] = all[i];
	return n;
}

static void avoid_inset(struct al_obstacles *obstacles)
{
	const struct al_scene *scene = obstacles->scene;
	const struct al_box region = region_of(scene);
	struct al_segment links[4];
	const size_t n = find_links(&region, &scene->inset_page, links);

	const double left = region.left, right = region.right;
	const struct al_segment sides[] = {{left, region.top, right, region.top},
		{left, region.bottom, right, region.bottom},
		{left, region.top, left, region.bottom}, {right, region.top, right, region.bottom}};

	al_obstacles_add_box(obstacles, grown(&scene->inset_page, 1));
	for (size_t i = 0; i < 4; i++)
		al_obstacles_add_segment(obstacles, sides[i]);
	for (size_t i = 0; i < n; i++)
		al_obstacles_add_segment(obstacles, links[i]);
}

static bool check_limits(const struct al_scene *scene, struct al_error *err)
{
	const struct al_inset *limits = &scene->plot->inset;
	const struct al_scale *x = &scene->x[0].scale, *y = &scene->y[0].scale;

	if (limits->x_min >= x->min && limits->x_max <= x->max && limits->y_min >= y->min
		&& limits->y_max <= y->max)
		return true;
	return al_fail(err, AL_EINPUT,
		"the inset, x from %g to %g and y from %g to %g, reaches beyond the axes, %g to %g "
		"and %g to %g",
		limits->x_min, limits->x_max, limits->y_min, limits->y_max, x->min, x->max, y->min,
		y->max);
}

static const double least_frame_pt = 26;

/* As large as it can be, with room for its ticks. */
static bool place_inset(const struct al_obstacles *obstacles, struct al_scene *inset)
{
	struct al_scene *scene = obstacles->scene;
	static const double shares[] = {.56, .52, .48, .44, .4, .36, .32};
	const struct al_box *frame = &scene->frames[0], *own = &inset->frames[0];

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		const struct al_size size = {shares[i] * (frame->right - frame->left),
			shares[i] * (frame->bottom - frame->top)};
		inset->y->ticks.n = inset->x->ticks.n = 0;
		for (int pass = 0; pass < 3; pass++)
			set_frame(inset, size);
		if (own->right - own->left < least_frame_pt
			|| own->bottom - own->top < least_frame_pt)
			break;
		if (find_place(obstacles, size, &scene->inset_page))
			return true;
	}
	return false;
}

bool al_scene_add_inset(struct al_obstacles *obstacles, struct al_error *err)
{
	struct al_scene *scene = obstacles->scene;

	if (!scene->plot->inset.is_drawn)
		return true;
	if (!check_limits(scene, err))
		return false;
	struct al_scene *inset = make_inset(scene);
	if (!place_inset(obstacles, inset))
		return al_fail(err, AL_EINPUT,
			"no room for the inset: use a larger figure or wider axes");
	move_to(inset, scene->inset_page.left, scene->inset_page.top);
	scene->inset = inset;
	avoid_inset(obstacles);
	al_scene_add_tick_labels(inset, 0, true, scene);
	al_scene_add_tick_labels(inset, 0, false, scene);
	return true;
}

/* ---- drawing ---- */

void al_scene_draw_inset(struct al_scene *scene)
{
	struct al_segment links[4];

	if (!scene->inset)
		return;
	const struct al_box region = region_of(scene);
	const size_t n = find_links(&region, &scene->inset_page, links);
	for (size_t i = 0; i < n; i++)
		al_canvas_line(scene->canvas, links[i].x0, links[i].y0, links[i].x1, links[i].y1,
			0.4, al_color_leader);
	al_canvas_stroke_box(scene->canvas, &region, 0.5, al_color_axis);
	al_canvas_color(scene->canvas, al_color_white);
	al_canvas_fill_box(scene->canvas, &scene->inset_page);
	al_canvas_stroke_box(scene->canvas, &scene->inset_page, 0.5, al_color_leader);
	al_scene_draw_back(scene->inset, 0);
	scene->plot->mark->draw(scene->inset, 0);
	al_scene_draw_axes(scene->inset, 0);
}
