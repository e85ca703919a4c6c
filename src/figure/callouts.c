/* Callouts: labels at points and at reference lines, in free places only.
 *
 * A point's label tries eight places around the point, then wider rings with a leader. A reference
 * line's label tries places along the line, above and below, and takes the one that covers the fewest
 * marks. */
#include <math.h>

#include "figure/mark.h"
#include "figure/measures.h"

static const double near_pt = 4.2;   /* from the middle of a marker to its label */
static const double rings_pt[] = {9, 14, 20, 28, 38, 50, 64};

enum { N_RINGS = sizeof(rings_pt) / sizeof(*rings_pt), N_DIRECTIONS = 16, N_STATIONS = 9 };

/* Directions to a label, the easiest to read first. */
static const double places[8][2] = {
	{1, 0}, {1, -1}, {1, 1}, {-1, 0}, {-1, -1}, {-1, 1}, {0, -1}, {0, 1},
};

/* Clips the segment to the box (Liang & Barsky 1984). */
static bool crosses(const struct al_segment *s, const struct al_box *box)
{
	double dx = s->x1 - s->x0, dy = s->y1 - s->y0;
	const double directions[] = {-dx, dx, -dy, dy};
	const double distances[] = {s->x0 - box->left, box->right - s->x0, s->y0 - box->top,
		box->bottom - s->y0};
	double enter = 0, leave = 1;

	for (int side = 0; side < 4; side++) {
		if (directions[side] == 0 && distances[side] < 0)
			return false;
		if (directions[side] < 0)
			enter = fmax(enter, distances[side] / directions[side]);
		else if (directions[side] > 0)
			leave = fmin(leave, distances[side] / directions[side]);
	}
	return enter <= leave;
}

static size_t count_hits(const struct al_obstacles *o, const struct al_box *box)
{
	size_t hits = 0;

	for (size_t i = 0; i < o->n_boxes; i++)
		hits += al_box_meets(&o->boxes[i], box);
	for (size_t i = 0; i < o->n_segments; i++)
		hits += crosses(&o->segments[i], box);
	return hits;
}

static bool meets_text(const struct al_scene *scene, const struct al_box *box)
{
	for (size_t i = 0; i < scene->n_labels; i++)
		if (al_box_meets(&scene->labels[i].box, box))
			return true;
	return false;
}

static bool crosses_text(const struct al_scene *scene, const struct al_segment *segment)
{
	for (size_t i = 0; i < scene->n_labels; i++)
		if (crosses(segment, &scene->labels[i].box))
			return true;
	return false;
}

static bool lies_in(const struct al_box *box, const struct al_box *frame)
{
	return box->left >= frame->left + 1 && box->right <= frame->right && box->top >= frame->top &&
		box->bottom <= frame->bottom - 1;
}

static bool is_free(const struct al_scene *scene, size_t panel, const struct al_obstacles *obstacles,
	const struct al_box *box)
{
	return lies_in(box, &scene->frames[panel]) && !meets_text(scene, box) &&
		count_hits(obstacles, box) == 0;
}

/* ---- labels at points ---- */

static bool put_near(struct al_scene *scene, size_t panel, const struct al_obstacles *obstacles,
	struct al_label *label, double x, double y)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		double dx = places[i][0], dy = places[i][1];
		double reach = dx != 0 && dy != 0 ? near_pt * 0.7 : near_pt;
		al_label_put(scene->canvas, label, x + dx * reach, y + dy * reach, (1 - dx) / 2,
			(1 - dy) / 2);
		if (is_free(scene, panel, obstacles, &label->box))
			return true;
	}
	return false;
}

/* From the marker's rim to the nearest place of the label's box. */
static struct al_segment leader_to(const struct al_box *box, double x, double y)
{
	double to_x = fmin(box->right, fmax(box->left, x)), to_y = fmin(box->bottom, fmax(box->top, y));
	double length = fmax(1e-6, hypot(to_x - x, to_y - y));
	double start = 3 / length, stop = fmax(start, 1 - 0.6 / length);

	return (struct al_segment){x + (to_x - x) * start, y + (to_y - y) * start, x + (to_x - x) * stop,
		y + (to_y - y) * stop};
}

static bool put_on_rings(struct al_scene *scene, size_t panel, struct al_obstacles *obstacles,
	struct al_label *label, double x, double y)
{
	for (size_t i = 0; i < (size_t)N_RINGS * N_DIRECTIONS; i++) {
		double angle = 2 * G_PI * (double)(i % N_DIRECTIONS) / N_DIRECTIONS;
		double dx = cos(angle), dy = -sin(angle), ring = rings_pt[i / N_DIRECTIONS];
		al_label_put(scene->canvas, label, x + dx * ring, y + dy * ring, (1 - dx) / 2, (1 - dy) / 2);
		struct al_segment leader = leader_to(&label->box, x, y);
		if (!is_free(scene, panel, obstacles, &label->box) || crosses_text(scene, &leader))
			continue;
		al_scene_add_leader(scene, leader.x0, leader.y0, leader.x1, leader.y1);
		al_obstacles_add_segment(scene, obstacles, leader);
		return true;
	}
	return false;
}

static bool label_point(struct al_scene *scene, size_t panel, struct al_obstacles *obstacles,
	const struct al_point *point, struct al_error *err)
{
	struct al_label label = {.text = point->label, .font = AL_FONT_TICK, .color = al_color_ink};
	double x = al_scene_x(scene, panel, point->x), y = al_scene_y(scene, point->y);

	if (!put_near(scene, panel, obstacles, &label, x, y) &&
		!put_on_rings(scene, panel, obstacles, &label, x, y))
		return al_fail(err, AL_EINPUT,
			"no free place for the label \"%s\", expected a larger figure or fewer labels",
			point->label);
	al_scene_add_label(scene, &label);
	return true;
}

static bool label_points(struct al_scene *scene, size_t panel, struct al_obstacles *obstacles,
	struct al_error *err)
{
	for (size_t series = 0; series < scene->plot->n_series; series++) {
		const struct al_points *points = al_plot_points(scene->plot, panel, series);
		for (size_t i = 0; i < points->n; i++) {
			const struct al_point *point = &points->items[i];
			if (point->label && *point->label && !isnan(point->y) &&
				al_scene_holds(scene, point) &&
				!label_point(scene, panel, obstacles, point, err))
				return false;
		}
	}
	return true;
}

/* ---- labels at reference lines ---- */

struct station {
	struct al_box box;
	size_t hits;
	bool is_found;
};

/* The better of `best` and the places along the line in one panel. */
static void try_stations(struct al_scene *scene, size_t panel, const struct al_obstacles *obstacles,
	struct al_label *label, double y, struct station *best)
{
	const struct al_box *frame = &scene->frames[panel];

	for (int i = 0; i < 2 * N_STATIONS; i++) {
		double across = (double)(i % N_STATIONS) / (N_STATIONS - 1);
		bool is_below = i >= N_STATIONS;
		al_label_put(scene->canvas, label, frame->left + 3 + across * (frame->right - frame->left - 4),
			is_below ? y + 0.6 : y - 0.6, across, is_below ? 0 : 1);
		size_t hits = count_hits(obstacles, &label->box);
		if (!lies_in(&label->box, frame) || meets_text(scene, &label->box) ||
			(best->is_found && hits >= best->hits))
			continue;
		*best = (struct station){label->box, hits, true};
	}
}

static bool label_reference(struct al_scene *scene, const struct al_obstacles *obstacles,
	const struct al_reference_line *line, struct al_error *err)
{
	struct al_label label = {.text = line->label, .font = AL_FONT_TICK, .color = al_color_axis};
	struct station best = {0};

	if (!line->label || !*line->label)
		return true;
	for (size_t panel = 0; panel < scene->plot->n_panels; panel++)
		try_stations(scene, panel, &obstacles[panel], &label, al_scene_y(scene, line->value), &best);
	if (!best.is_found)
		return al_fail(err, AL_EINPUT,
			"no free place for the reference line's label \"%s\", expected a larger figure",
			line->label);
	label.box = best.box;
	al_scene_add_label(scene, &label);
	return true;
}

static void avoid_references(struct al_scene *scene, size_t panel, struct al_obstacles *obstacles)
{
	const struct al_figure *figure = scene->plot->figure;
	const struct al_box *frame = &scene->frames[panel];

	for (size_t i = 0; i < figure->n_references; i++) {
		double y = al_scene_y(scene, figure->references[i].value);
		al_obstacles_add_segment(scene, obstacles,
			(struct al_segment){frame->left, y, frame->right, y});
	}
}

bool al_scene_add_callouts(struct al_scene *scene, struct al_error *err)
{
	const struct al_figure *figure = scene->plot->figure;
	struct al_obstacles obstacles[AL_MOST_PANELS] = {0};

	for (size_t panel = 0; panel < scene->plot->n_panels; panel++) {
		scene->plot->mark->avoid(scene, panel, &obstacles[panel]);
		avoid_references(scene, panel, &obstacles[panel]);
	}
	for (size_t i = 0; i < figure->n_references; i++)
		if (!label_reference(scene, obstacles, &figure->references[i], err))
			return false;
	for (size_t panel = 0; panel < scene->plot->n_panels; panel++)
		if (!label_points(scene, panel, &obstacles[panel], err))
			return false;
	return true;
}
