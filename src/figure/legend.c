/* Legends: samples and names in rows above the frames. */
#include "figure/mark.h"

static const double key_gap_pt = 3, entry_gap_pt = 9;

/* A key, its name and the gap between them. */
static struct al_size entry_size(struct al_scene *scene, size_t series)
{
	const struct al_label label = al_tick_label(scene->plot->series[series]);
	struct al_size size = al_label_measure(scene->canvas, &label);

	size.width_pt += scene->plot->mark->key_pt + key_gap_pt;
	return size;
}

/* Rows begin where the frames do, or at the page's edge where one row from there isn't enough. */
static double left_edge(struct al_scene *scene, double right)
{
	double left = scene->frames[0].left, end = left - entry_gap_pt;

	for (size_t series = 0; series < scene->plot->n_series; series++)
		end += entry_size(scene, series).width_pt + entry_gap_pt;
	return end > right ? AL_EDGE_PT : left;
}

bool al_scene_add_legend(struct al_scene *scene, double top, double *bottom, struct al_error *err)
{
	const double right = scene->canvas->width_pt - AL_EDGE_PT, left = left_edge(scene, right);
	const double key_pt = scene->plot->mark->key_pt;
	double x = left, y = top;

	if (!scene->keys)
		scene->keys = al_new_array(scene->arena, struct al_box, AL_MOST_SERIES);
	scene->n_keys = scene->plot->n_series;
	for (size_t series = 0; series < scene->n_keys; series++) {
		const char *name = scene->plot->series[series];
		const struct al_size size = entry_size(scene, series);
		if (x > left && x + size.width_pt > right) {
			x = left;
			y += size.height_pt + AL_LINE_GAP_PT;
		}
		if (x + size.width_pt > right)
			return al_fail(err, AL_EINPUT,
				"the name \"%s\" takes %.0f pt in the legend, expected at most "
				"%.0f",
				name, size.width_pt, right - left);
		al_scene_write(scene, al_tick_label(name), x + key_pt + key_gap_pt, y, 0, 0);
		scene->keys[series] = (struct al_box){x, y, x + key_pt, y + size.height_pt};
		x += size.width_pt + entry_gap_pt;
		*bottom = y + size.height_pt;
	}
	return true;
}
