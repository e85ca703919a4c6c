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

struct cursor {
	double x, y;
	double left, right;
	double row_height;
};

static void begin_row(struct cursor *c)
{
	c->x = c->left;
	c->y += c->row_height + AL_LINE_GAP_PT;
}

static bool add_entry(struct al_scene *scene, struct cursor *c, size_t series, struct al_error *err)
{
	const char *name = scene->plot->series[series];
	const double key_pt = scene->plot->mark->key_pt;
	const double width = entry_size(scene, series).width_pt;

	c->row_height = entry_size(scene, series).height_pt;
	if (c->x > c->left && c->x + width > c->right)
		begin_row(c);
	if (c->x + width > c->right)
		return al_fail(err, AL_EINPUT,
			"the name \"%s\" takes %.0f pt in the legend, expected at most %.0f", name,
			width, c->right - c->left);
	al_scene_write(scene, al_tick_label(name), c->x + key_pt + key_gap_pt, c->y, 0, 0);
	scene->keys[series] = (struct al_box){c->x, c->y, c->x + key_pt, c->y + c->row_height};
	c->x += width + entry_gap_pt;
	return true;
}

bool al_scene_add_legend(struct al_scene *scene, double top, double *bottom, struct al_error *err)
{
	double right = scene->canvas->width_pt - AL_EDGE_PT, left = left_edge(scene, right);
	struct cursor c = {.x = left, .y = top, .left = left, .right = right};

	if (!scene->keys)
		scene->keys = al_new_array(scene->arena, struct al_box, AL_MOST_SERIES);
	for (size_t series = 0; series < scene->plot->n_series; series++)
		if (!add_entry(scene, &c, series, err))
			return false;
	scene->n_keys = scene->plot->n_series;
	*bottom = c.y + c.row_height;
	return true;
}
