/* Names of slots: the values of x below bars, or to the left of those that lie. */

#include "figure/scene.h"

static bool names_fit(struct al_scene *scene, const struct al_slot_names *names, double *height_pt)
{
	const struct al_plot *plot = scene->plot;
	double room = al_scene_slot_pt(scene) * (double)names->stride
		- (names->is_vertical ? 0.5 : 3);

	*height_pt = 0;
	for (size_t i = 0; i < plot->n_categories; i += names->stride) {
		struct al_label label = al_tick_label(plot->categories[i]);
		label.is_vertical = names->is_vertical;
		label.wrap_pt = names->wrap_pt;
		const struct al_size size = al_label_measure(scene->canvas, &label);
		if (size.width_pt > room)
			return false;
		*height_pt = fmax(*height_pt, size.height_pt);
	}
	return true;
}

/* Whole, whatever room they take. */
static void measure_beside(struct al_scene *scene, struct al_slot_names *names)
{
	for (size_t i = 0; i < scene->plot->n_categories; i++)
		names->height_pt = fmax(names->height_pt,
			al_canvas_tick_width(scene->canvas, scene->plot->categories[i]));
}

/* On one line; on up to three; upwards; every second, third ... upwards. */
void al_scene_fit_slot_names(struct al_scene *scene)
{
	struct al_slot_names *names = &scene->slot_names;
	double three_lines = 3.2 * al_line_height(scene->canvas, AL_FONT_TICK);

	*names = (struct al_slot_names){.stride = 1};
	if (scene->plot->figure->is_horizontal) {
		measure_beside(scene, names);
		return;
	}
	if (names_fit(scene, names, &names->height_pt))
		return;
	names->wrap_pt = al_scene_slot_pt(scene) - 3;
	if (names->wrap_pt > 0 && names_fit(scene, names, &names->height_pt)
		&& names->height_pt <= three_lines)
		return;
	*names = (struct al_slot_names){.stride = 1, .is_vertical = true};
	while (!names_fit(scene, names, &names->height_pt)
		&& names->stride < scene->plot->n_categories)
		names->stride++;
}

void al_scene_add_slot_names(struct al_scene *scene, size_t panel)
{
	const struct al_slot_names *names = &scene->slot_names;
	const struct al_box *frame = &scene->frames[panel];
	const double gap = AL_TICK_PT + AL_TICK_GAP_PT;

	for (size_t i = 0; i < scene->plot->n_categories; i += names->stride) {
		struct al_label label = al_tick_label(scene->plot->categories[i]);
		label.is_vertical = names->is_vertical;
		label.wrap_pt = names->wrap_pt;
		label.align = AL_ALIGN_CENTER;
		const double at = al_scene_x(scene, panel, (double)i);
		if (scene->plot->figure->is_horizontal)
			al_scene_write(scene, label, frame->left - gap, at, 1, 0.5);
		else
			al_scene_write(scene, label, at, frame->bottom + gap, 0.5, 0);
	}
}
