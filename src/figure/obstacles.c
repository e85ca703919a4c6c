/* Obstacles: what labels keep off besides other text, and free places between them. */
#include "figure/obstacles.h"

#include "figure/mark.h"

void al_obstacles_add_box(struct al_obstacles *obstacles, struct al_box box)
{
	*AL_APPEND(obstacles->scene->arena, obstacles->boxes, obstacles->n_boxes,
		obstacles->boxes_room) = box;
}

void al_obstacles_add_segment(struct al_obstacles *obstacles, struct al_segment segment)
{
	*AL_APPEND(obstacles->scene->arena, obstacles->segments, obstacles->n_segments,
		obstacles->segments_room) = segment;
}

struct al_obstacles al_scene_obstacles(struct al_scene *scene, size_t panel)
{
	const struct al_figure *figure = scene->plot->figure;
	const struct al_box *frame = &scene->frames[panel];
	struct al_obstacles obstacles = {.scene = scene, .panel = panel};

	scene->plot->mark->avoid(&obstacles);
	for (size_t i = 0; i < figure->n_references; i++) {
		const double at = al_scene_y(scene, panel, figure->references[i].value);
		al_obstacles_add_segment(&obstacles,
			figure->is_horizontal
				? (struct al_segment){at, frame->top, at, frame->bottom}
				: (struct al_segment){frame->left, at, frame->right, at});
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

/* ---- free places ---- */

bool al_scene_has_room(const struct al_scene *scene, size_t panel, const struct al_box *box)
{
	const struct al_box *frame = &scene->frames[panel];

	if (box->left < frame->left + 1 || box->right > frame->right || box->top < frame->top
		|| box->bottom > frame->bottom - 1)
		return false;
	for (size_t i = 0; i < scene->n_labels; i++)
		if (al_box_meets(&scene->labels[i].box, box))
			return false;
	return true;
}

bool al_obstacles_leave(const struct al_obstacles *obstacles, const struct al_box *box)
{
	return al_scene_has_room(obstacles->scene, obstacles->panel, box)
		&& al_obstacles_count(obstacles, box) == 0;
}

static const double near_pt = 4.2; /* from the middle of a marker to its label */

/* Directions to a label, the easiest to read first. */
static const double places[8][2] = {
	{1, 0},
	{-1, 0},
	{1, -1},
	{1, 1},
	{-1, -1},
	{-1, 1},
	{0, -1},
	{0, 1},
};

bool al_label_put_near(const struct al_obstacles *obstacles, struct al_label *label,
	struct al_size size, double x, double y)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		double dx = places[i][0], dy = places[i][1];
		double reach = dx != 0 && dy != 0 ? near_pt * 0.7 : near_pt;
		label->box = al_box_at(size, x + dx * reach, y + dy * reach, (1 - dx) / 2,
			(1 - dy) / 2);
		if (al_obstacles_leave(obstacles, &label->box))
			return true;
	}
	return false;
}
