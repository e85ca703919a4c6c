/* Scenes: from values to places, and the lists that a layout fills. */
#include "figure/scene.h"

double al_scene_x(const struct al_scene *scene, size_t panel, double x)
{
	const struct al_box *frame = &scene->frames[panel];

	return (scene->plot->figure->is_horizontal ? frame->top : frame->left)
		+ al_scale_at(&scene->x[panel].scale, x);
}

double al_scene_y(const struct al_scene *scene, size_t panel, double y)
{
	const struct al_box *frame = &scene->frames[panel], *first = &scene->frames[0];

	return al_scale_at(&scene->y[panel].scale, y)
		+ (scene->plot->figure->is_horizontal ? frame->left - first->left
						      : frame->top - first->top);
}

double al_scene_clamped_y(const struct al_scene *scene, size_t panel, double y)
{
	const struct al_scale *scale = &scene->y[panel].scale;

	return al_scene_y(scene, panel, fmin(scale->max, fmax(scale->min, y)));
}

struct al_spot al_scene_at(const struct al_scene *scene, const struct al_point *point)
{
	return (struct al_spot){al_scene_x(scene, point->panel, point->x),
		al_scene_y(scene, point->panel, point->y)};
}

size_t al_scene_columns(const struct al_scene *scene)
{
	const size_t n = scene->plot->n_panels, a_row = scene->plot->figure->panels_a_row;

	return a_row > 0 && a_row < n ? a_row : n;
}

bool al_scene_is_lowest(const struct al_scene *scene, size_t panel)
{
	return panel + al_scene_columns(scene) >= scene->plot->n_panels;
}

double al_scene_slot_pt(const struct al_scene *scene)
{
	const struct al_scale *x = &scene->x[0].scale;

	return (x->end_pt - x->start_pt) / (double)scene->plot->n_categories;
}

bool al_scene_holds(const struct al_scene *scene, const struct al_point *point)
{
	const struct al_scale *x = &scene->x[point->panel].scale;
	const struct al_scale *y = &scene->y[point->panel].scale;

	return point->x >= x->min && point->x <= x->max && point->y >= y->min && point->y <= y->max;
}

void al_scene_add_label(struct al_scene *scene, const struct al_label *label)
{
	*AL_APPEND(scene->arena, scene->labels, scene->n_labels, scene->labels_room) = *label;
}

struct al_box al_scene_write(struct al_scene *scene, struct al_label label, double x, double y,
	double across, double down)
{
	al_label_put(scene->canvas, &label, x, y, across, down);
	if (*label.text)
		al_scene_add_label(scene, &label);
	return label.box;
}

void al_scene_add_leader(struct al_scene *scene, struct al_segment leader)
{
	*AL_APPEND(scene->arena, scene->leaders, scene->n_leaders, scene->leaders_room) = leader;
}
