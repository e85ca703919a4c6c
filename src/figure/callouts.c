/* Callouts: labels at points and at reference lines, in free places only.
 *
 * A point's label tries eight places around the point, then wider rings with a leader. A reference
 * line's label tries places along the line, above and below, and takes the one that covers the
 * fewest marks. */

#include "figure/mark.h"
#include "figure/palette.h"

static const double crowd_pt = 9; /* points nearer than this crowd each other */
static const double rings_pt[] = {8, 12, 17, 23, 30, 38, 47, 57, 68, 80, 95, 115};

enum {
	N_RINGS = sizeof(rings_pt) / sizeof(*rings_pt),
	N_DIRECTIONS = 24,
	N_STATIONS = 9,
	FAR_RING = 3
};

static bool crosses_text(const struct al_scene *scene, const struct al_segment *segment)
{
	for (size_t i = 0; i < scene->n_labels; i++)
		if (al_segment_crosses(segment, &scene->labels[i].box))
			return true;
	return false;
}

/* ---- labels at points ---- */

/* In the color of the series that they name; those of dominated points gray, but easy to read. */
static struct al_label label_of(const struct al_scene *scene, const struct al_point *point)
{
	struct al_label label = al_tick_label(point->label);

	if (scene->plot->names_series)
		label.color = al_series_ink(scene->plot->looks[point->series]);
	else if (point->is_dominated)
		label.color = al_color_axis;
	return label;
}

/* From the marker's rim to the nearest place of the label's box. */
static struct al_segment leader_to(const struct al_box *box, double x, double y)
{
	double to_x = fmin(box->right, fmax(box->left, x));
	double to_y = fmin(box->bottom, fmax(box->top, y));
	double length = fmax(1e-6, hypot(to_x - x, to_y - y));
	double start = 3 / length, stop = fmax(start, 1 - 0.6 / length);

	return (struct al_segment){x + (to_x - x) * start, y + (to_y - y) * start,
		x + (to_x - x) * stop, y + (to_y - y) * stop};
}

/* The demands that are dropped one after the other where labels find no place with all of them. */
enum effort { KEEPS_NEAR, KEEPS_OFF_CROWDS, LETS_LEADERS_CROSS, N_EFFORTS };

static bool is_clear(const struct al_scene *scene, const struct al_segment *leader,
	enum effort effort)
{
	for (size_t i = 0; i < scene->n_leaders && effort < LETS_LEADERS_CROSS; i++)
		if (al_segments_cross(leader, &scene->leaders[i]))
			return false;
	return !crosses_text(scene, leader);
}

/* Labels next to a crowd of points would block the way to the points in its middle. */
static bool is_crowded(const struct al_obstacles *obstacles, double x, double y)
{
	size_t neighbors = 0;

	for (size_t i = 0; i < obstacles->n_boxes; i++) {
		const struct al_box *box = &obstacles->boxes[i];
		double dx = (box->left + box->right) / 2 - x, dy = (box->top + box->bottom) / 2 - y;
		neighbors += hypot(dx, dy) < crowd_pt;
	}
	return neighbors > 1;
}

static bool put_on_rings(struct al_obstacles *obstacles, struct al_label *label,
	struct al_size size, double x, double y, enum effort effort)
{
	struct al_scene *scene = obstacles->scene;
	size_t first = effort >= KEEPS_OFF_CROWDS && is_crowded(obstacles, x, y) ? FAR_RING : 0;

	for (size_t i = first * N_DIRECTIONS; i < (size_t)N_RINGS * N_DIRECTIONS; i++) {
		double angle = 2 * G_PI * (double)(i % N_DIRECTIONS) / N_DIRECTIONS;
		double dx = cos(angle), dy = -sin(angle), ring = rings_pt[i / N_DIRECTIONS];
		label->box = al_box_at(size, x + dx * ring, y + dy * ring, (1 - dx) / 2,
			(1 - dy) / 2);
		struct al_segment leader = leader_to(&label->box, x, y);
		if (!al_obstacles_leave(obstacles, &label->box)
			|| !is_clear(scene, &leader, effort))
			continue;
		al_scene_add_leader(scene, leader);
		al_obstacles_add_segment(obstacles, leader);
		return true;
	}
	return false;
}

/* A point that wants a label, which is measured once for all attempts. */
struct wanted {
	const struct al_point *point;
	struct al_label label;
	struct al_size size;
};

/* In the order in which they get it. */
struct queue {
	struct wanted *items;
	size_t n;
};

static bool label_point(struct al_obstacles *obstacles, const struct wanted *wanted,
	enum effort effort)
{
	struct al_scene *scene = obstacles->scene;
	struct al_label label = wanted->label;
	const struct al_spot at = al_scene_at(scene, wanted->point);
	bool is_far = effort >= KEEPS_OFF_CROWDS && is_crowded(obstacles, at.x, at.y);

	if ((is_far || !al_label_put_near(obstacles, &label, wanted->size, at.x, at.y))
		&& !put_on_rings(obstacles, &label, wanted->size, at.x, at.y, effort))
		return false;
	al_scene_add_label(scene, &label);
	return true;
}

static struct queue make_queue(struct al_scene *scene, size_t panel)
{
	const struct al_points points = al_points_of_panel(&scene->plot->points, panel);
	struct queue queue = {al_new_array(scene->arena, struct wanted, points.n), 0};

	for (size_t i = 0; i < points.n; i++) {
		const struct al_point *point = &points.items[i];
		if (!point->label || !*point->label || !al_scene_holds(scene, point))
			continue;
		const struct al_label label = label_of(scene, point);
		queue.items[queue.n++] = (struct wanted){point, label,
			al_label_measure(scene->canvas, &label)};
	}
	return queue;
}

/* The index of the first point that finds no place; n where all do. */
static size_t label_in_turn(struct al_obstacles *obstacles, const struct queue *queue,
	enum effort effort)
{
	for (size_t i = 0; i < queue->n; i++)
		if (!label_point(obstacles, &queue->items[i], effort))
			return i;
	return queue->n;
}

static void move_to_front(struct queue *queue, size_t index)
{
	const struct wanted first = queue->items[index];

	memmove(queue->items + 1, queue->items, index * sizeof(*queue->items));
	queue->items[0] = first;
}

/* Labels that together would cover most of the frame find no places: trying is a waste. */
static bool is_hopeless(const struct al_scene *scene, size_t panel, const struct queue *queue)
{
	const struct al_box *frame = &scene->frames[panel];
	double room = (frame->right - frame->left) * (frame->bottom - frame->top), covered = 0;

	for (size_t i = 0; i < queue->n; i++)
		covered += queue->items[i].size.width_pt * queue->items[i].size.height_pt;
	return covered > 0.6 * room;
}

/* A label that finds no place is first in the next attempt (Joslin & Clements 1999, "squeaky
 * wheel"). */
static bool label_points(struct al_obstacles *obstacles, struct al_error *err)
{
	struct al_scene *scene = obstacles->scene;
	const size_t panel = obstacles->panel;
	const size_t n_labels = scene->n_labels, n_leaders = scene->n_leaders,
		     n_segments = obstacles->n_segments;
	struct queue queue = make_queue(scene, panel);
	size_t attempts = is_hopeless(scene, panel, &queue) ? 0 : queue.n < 50 ? 36 : 6;

	if (queue.n == 0)
		return true;
	for (size_t i = 0; i < attempts; i++) {
		enum effort effort = (enum effort)(i * N_EFFORTS / attempts);
		size_t failed = label_in_turn(obstacles, &queue, effort);
		if (failed == queue.n)
			return true;
		move_to_front(&queue, failed);
		scene->n_labels = n_labels;
		scene->n_leaders = n_leaders;
		obstacles->n_segments = n_segments;
	}
	return al_fail(err, AL_EINPUT,
		"no room for the label \"%s\" among %zu: use a larger figure or fewer labels",
		queue.items[0].label.text, queue.n);
}

/* ---- labels at reference lines ---- */

struct station {
	struct al_box box;
	size_t hits;
	bool is_found;
};

/* The better of `best` and the places along the line in one panel. */
static void try_stations(const struct al_obstacles *obstacles, struct al_label *label, double y,
	struct station *best)
{
	const struct al_scene *scene = obstacles->scene;
	const struct al_box *frame = &scene->frames[obstacles->panel];
	const struct al_size size = al_label_measure(scene->canvas, label);

	for (int i = 0; i < 2 * N_STATIONS; i++) {
		double across = (double)(i % N_STATIONS) / (N_STATIONS - 1);
		bool is_below = i >= N_STATIONS;
		label->box = al_box_at(size,
			frame->left + 3 + across * (frame->right - frame->left - 4),
			is_below ? y + 0.6 : y - 0.6, across, is_below ? 0 : 1);
		size_t hits = al_obstacles_count(obstacles, &label->box);
		if (!al_scene_has_room(scene, obstacles->panel, &label->box)
			|| (best->is_found && hits >= best->hits))
			continue;
		*best = (struct station){label->box, hits, true};
	}
}

/* Above the frames, where a line across horizontal bars ends. */
static bool label_standing(struct al_scene *scene, struct al_label label, double value)
{
	for (size_t panel = 0; panel < scene->plot->n_panels; panel++) {
		const struct al_scale *y = &scene->y[panel].scale;
		if (value >= y->min && value <= y->max)
			al_scene_write(scene, label, al_scene_y(scene, panel, value),
				scene->frames[panel].top - 1, 0.5, 1);
	}
	return true;
}

static bool label_reference(struct al_scene *scene, const struct al_obstacles *obstacles,
	const struct al_reference_line *line, struct al_error *err)
{
	struct al_label label = {.text = line->label, .font = AL_FONT_TICK, .color = al_color_axis};
	struct station best = {0};

	if (!line->label || !*line->label)
		return true;
	if (scene->plot->figure->is_horizontal)
		return label_standing(scene, label, line->value);
	for (size_t panel = 0; panel < scene->plot->n_panels; panel++)
		try_stations(&obstacles[panel], &label, al_scene_y(scene, panel, line->value),
			&best);
	if (!best.is_found)
		return al_fail(err, AL_EINPUT,
			"no room for the reference line's label \"%s\": use a larger figure",
			line->label);
	label.box = best.box;
	al_scene_add_label(scene, &label);
	return true;
}

bool al_scene_add_callouts(struct al_scene *scene, struct al_error *err)
{
	const struct al_figure *figure = scene->plot->figure;
	struct al_obstacles obstacles[AL_MOST_PANELS];

	if (!figure->label && figure->n_references == 0 && figure->n_ratios == 0
		&& !figure->inset.is_drawn)
		return true;
	for (size_t panel = 0; panel < scene->plot->n_panels; panel++)
		obstacles[panel] = al_scene_obstacles(scene, panel);
	if (!al_scene_add_ratios(scene, obstacles, err) || !al_scene_add_inset(&obstacles[0], err))
		return false;
	for (size_t i = 0; i < figure->n_references; i++)
		if (!label_reference(scene, obstacles, &figure->references[i], err))
			return false;
	for (size_t panel = 0; panel < scene->plot->n_panels; panel++)
		if (!label_points(&obstacles[panel], err))
			return false;
	return true;
}
