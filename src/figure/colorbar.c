/* Color bars: the range of a heat map's colors, above the frames. */
#include "figure/palette.h"
#include "figure/scene.h"

enum { STEPS = 64 };

static const double bar_pt = 72, gap_pt = 3;

static struct al_label bar_label(const struct al_scene *scene, double value)
{
	char label[AL_TICK_LABEL_SIZE];

	al_tick_label_rounded(label, value, scene->plot->color.quantity);
	return al_tick_label(al_strdup(scene->arena, label));
}

/* "0.1 [bar] 0.9" from a place on; false where the page ends before. */
static bool put_bar(struct al_scene *scene, double left, double top, struct al_label *low,
	struct al_label *high)
{
	const double height = al_line_height(scene->canvas, AL_FONT_TICK);

	al_label_put(scene->canvas, low, left, top, 0, 0);
	scene->color_bar = (struct al_box){low->box.right + gap_pt, top + 0.1 * height,
		low->box.right + gap_pt + bar_pt, top + 0.9 * height};
	al_label_put(scene->canvas, high, scene->color_bar.right + gap_pt, top, 0, 0);
	return high->box.right <= scene->canvas->width_pt - AL_EDGE_PT;
}

/* The title, and the bar behind it or, where the page is too narrow, beneath. */
bool al_scene_add_color_bar(struct al_scene *scene, double top, double *bottom,
	struct al_error *err)
{
	const struct al_dimension *color = &scene->plot->color;
	struct al_label title = al_tick_label(color->title), low = bar_label(scene, color->min);
	struct al_label high = bar_label(scene, color->max);

	al_label_put(scene->canvas, &title, AL_EDGE_PT, top, 0, 0);
	const bool is_behind = put_bar(scene, title.box.right + 2 * gap_pt, top, &low, &high);
	if (!is_behind
		&& (title.box.right > scene->canvas->width_pt - AL_EDGE_PT
			|| !put_bar(scene, AL_EDGE_PT, title.box.bottom, &low, &high)))
		return al_fail(err, AL_EINPUT,
			"the colors' title \"%s\" leaves no room for their bar", color->title);
	if (*title.text)
		al_scene_add_label(scene, &title);
	al_scene_add_label(scene, &low);
	al_scene_add_label(scene, &high);
	*bottom = high.box.bottom;
	return true;
}

void al_scene_draw_color_bar(struct al_scene *scene)
{
	const struct al_box *bar = &scene->color_bar;
	double width = (bar->right - bar->left) / STEPS;

	for (int i = 0; i < STEPS; i++) {
		double left = bar->left + i * width;
		al_canvas_color(scene->canvas,
			al_ramp_color((i + 0.5) / STEPS, scene->plot->figure->is_diverging));
		al_canvas_fill_box(scene->canvas,
			&(struct al_box){left, bar->top, bar->right, bar->bottom});
	}
	al_canvas_stroke_box(scene->canvas, bar, 0.4, al_color_axis);
}
