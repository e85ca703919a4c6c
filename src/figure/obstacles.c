/* Obstacles: what labels keep off besides other text. */
#include "figure/obstacles.h"

#include <math.h>

#include "figure/mark.h"

void al_obstacles_add_box(struct al_scene *scene, struct al_obstacles *obstacles, struct al_box box)
{
	obstacles->boxes = al_grow(scene->arena, obstacles->boxes, obstacles->n_boxes,
		&obstacles->boxes_room, sizeof(*obstacles->boxes));
	obstacles->boxes[obstacles->n_boxes++] = box;
}

void al_obstacles_add_segment(struct al_scene *scene, struct al_obstacles *obstacles,
	struct al_segment segment)
{
	obstacles->segments = al_grow(scene->arena, obstacles->segments, obstacles->n_segments,
		&obstacles->segments_room, sizeof(*obstacles->segments));
	obstacles->segments[obstacles->n_segments++] = segment;
}

struct al_obstacles al_scene_obstacles(struct al_scene *scene, size_t panel)
{
	const struct al_figure *figure = scene->plot->figure;
	const struct al_box *frame = &scene->frames[panel];
	struct al_obstacles obstacles = {0};

	scene->plot->mark->avoid(scene, panel, &obstacles);
	for (size_t i = 0; i < figure->n_references; i++) {
		double y = al_scene_y(scene, panel, figure->references[i].value);
		al_obstacles_add_segment(scene, &obstacles,
			(struct al_segment){frame->left, y, frame->right, y});
	}
	return obstacles;
}

static bool turns_left(double x0, double y0, double x1, double y1, double x, double y)
{
	return (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0);
}

bool al_segments_cross(const struct al_segment *a, const struct al_segment *b)
{
	return turns_left(a->x0, a->y0, a->x1, a->y1, b->x0, b->y0)
		!= turns_left(a->x0, a->y0, a->x1, a->y1, b->x1, b->y1)
		&& turns_left(b->x0, b->y0, b->x1, b->y1, a->x0, a->y0)
		!= turns_left(b->x0, b->y0, b->x1, b->y1, a->x1, a->y1);
}

/* Liang & Barsky 1984. */
bool al_segment_clip(struct al_segment *s, const struct al_box *box)
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
	if (enter > leave)
		return false;
	*s = (struct al_segment){enter > 0 ? s->x0 + enter * dx : s->x0,
		enter > 0 ? s->y0 + enter * dy : s->y0, leave < 1 ? s->x0 + leave * dx : s->x1,
		leave < 1 ? s->y0 + leave * dy : s->y1};
	return true;
}

bool al_segment_crosses(const struct al_segment *s, const struct al_box *box)
{
	struct al_segment part = *s;

	return al_segment_clip(&part, box);
}

size_t al_obstacles_count(const struct al_obstacles *o, const struct al_box *box)
{
	size_t hits = 0;

	for (size_t i = 0; i < o->n_boxes; i++)
		hits += al_box_meets(&o->boxes[i], box);
	for (size_t i = 0; i < o->n_segments; i++)
		hits += al_segment_crosses(&o->segments[i], box);
	return hits;
}

bool al_obstacles_hit(const struct al_obstacles *o, const struct al_box *box)
{
	for (size_t i = 0; i < o->n_boxes; i++)
		if (al_box_meets(&o->boxes[i], box))
			return true;
	for (size_t i = 0; i < o->n_segments; i++)
		if (al_segment_crosses(&o->segments[i], box))
			return true;
	return false;
}
