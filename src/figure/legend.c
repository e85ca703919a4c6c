/* Legends: samples and names in rows above the frames. */
#include "figure/mark.h"
#include "figure/measures.h"

static const double key_gap_pt = 3, entry_gap_pt = 9;

/* The width of a key, its name and the gap between them. */
static double entry_width(struct al_scene *scene, struct al_label *label, double *height)
{
	double width;

	al_label_measure(scene->canvas, label, &width, height);
	return width + scene->plot->mark->key_pt + key_gap_pt;
}

/* Rows begin where the frames do, or at the page's edge where one row from there isn't enough. */
static double left_edge(struct al_scene *scene, double right)
{
	double left = scene->frames[0].left, end = left - entry_gap_pt, height;

	for (size_t series = 0; series < scene->plot->n_series; series++) {
		struct al_label label = al_tick_label(scene->plot->series[series]);
		end += entry_width(scene, &label, &height) + entry_gap_pt;
	}
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
	struct al_label label = al_tick_label(scene->plot->series[series]);
	double key_pt = scene->plot->mark->key_pt;
	double width = entry_width(scene, &label, &c->row_height);

	if (c->x > c->left && c->x + width > c->right)
		begin_row(c);
	if (c->x + width > c->right)
		return al_fail(err, AL_EINPUT,
			"the name \"%s\" takes %.0f pt in the legend, expected at most %.0f",
			label.text, width, c->right - c->left);
	al_label_put(scene->canvas, &label, c->x + key_pt + key_gap_pt, c->y, 0, 0);
	al_scene_add_label(scene, &label);
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
