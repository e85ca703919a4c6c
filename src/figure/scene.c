/* Scenes: from values to places, and the lists that a layout fills. */
#include "figure/scene.h"

#include <math.h>

double al_scale_at(const struct al_scale *scale, double value)
{
	double low = scale->min, high = scale->max;

	if (scale->is_log) {
		low = log(low);
		high = log(high);
		value = log(value);
	}
	return scale->start_pt + (scale->end_pt - scale->start_pt) * (value - low) / (high - low);
}

double al_scene_x(const struct al_scene *scene, size_t panel, double x)
{
	return scene->frames[panel].left + al_scale_at(&scene->x[panel], x);
}

double al_scene_y(const struct al_scene *scene, double y)
{
	return al_scale_at(&scene->y, y);
}

double al_scene_slot_pt(const struct al_scene *scene)
{
	const struct al_scale *x = &scene->x[0];

	return (x->end_pt - x->start_pt) / (double)scene->plot->n_categories;
}

bool al_scene_holds(const struct al_scene *scene, size_t panel, const struct al_point *point)
{
	const struct al_scale *x = &scene->x[panel], *y = &scene->y;

	return point->x >= x->min && point->x <= x->max && point->y >= y->min && point->y <= y->max;
}

void al_scene_clip(const struct al_scene *scene, size_t panel)
{
	const struct al_box *frame = &scene->frames[panel];
	cairo_t *cr = scene->canvas->cr;

	cairo_save(cr);
	cairo_rectangle(cr, frame->left, frame->top, frame->right - frame->left,
		frame->bottom - frame->top);
	cairo_clip(cr);
}

void al_scene_add_label(struct al_scene *scene, const struct al_label *label)
{
	scene->labels = al_grow(scene->arena, scene->labels, scene->n_labels, &scene->labels_room,
		sizeof(*scene->labels));
	scene->labels[scene->n_labels++] = *label;
}

void al_scene_add_leader(struct al_scene *scene, double x0, double y0, double x1, double y1)
{
	scene->leaders = al_grow(scene->arena, scene->leaders, scene->n_leaders,
		&scene->leaders_room, sizeof(*scene->leaders));
	scene->leaders[scene->n_leaders++] = (struct al_segment){x0, y0, x1, y1};
}
