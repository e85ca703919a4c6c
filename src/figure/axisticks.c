/* Ticks of a laid out axis: those that the figure asks for, or the ones that read best. */
#include <math.h>
#include <stdio.h>

#include "figure/scene.h"

static double width_of_label(void *canvas, const char *label)
{
	return al_canvas_tick_width(canvas, label);
}

static double height_of_label(void *canvas, const char *label)
{
	(void)label;
	return al_line_height(canvas, AL_FONT_TICK);
}

static struct al_tick_request request(const struct al_dimension *d, const struct al_scale *scale)
{
	return (struct al_tick_request){.axis = *d,
		.length_pt = fabs(scale->end_pt - scale->start_pt)};
}

static void name_ticks(const struct al_axis *axis, struct al_ticks *ticks)
{
	for (size_t i = 0; axis->tick_names && i < ticks->n; i++)
		for (size_t j = 0; j < axis->n_ticks; j++)
			if (axis->ticks[j] == ticks->items[i].value && axis->tick_names[j])
				snprintf(ticks->items[i].label, AL_TICK_LABEL_SIZE, "%s",
					axis->tick_names[j]);
}

/* Those that the figure asks for. */
static bool take_ticks(const struct al_scene *scene, const struct al_axis *axis,
	const struct al_dimension *d, struct al_ticks *ticks)
{
	*ticks = (struct al_ticks){0};
	for (size_t i = 0; i < axis->n_ticks && ticks->n < AL_MOST_TICKS; i++)
		if (axis->ticks[i] >= d->min && axis->ticks[i] <= d->max)
			ticks->items[ticks->n++].value = axis->ticks[i];
	al_ticks_label(ticks, d->quantity, d->is_log);
	name_ticks(axis, ticks);
	return axis->n_ticks > 0 && ticks->n >= scene->least_asked_ticks;
}

/* The axis grows to ticks that lie beyond the data. */
static void reach_ticks(struct al_scale *scale, const struct al_ticks *ticks)
{
	if (ticks->n == 0)
		return;
	scale->min = fmin(scale->min, ticks->items[0].value);
	scale->max = fmax(scale->max, ticks->items[ticks->n - 1].value);
}

/* To the side no room is spent on a tick beyond the data, as long as two stay. */
static void drop_outer_ticks(const struct al_scale *scale, struct al_ticks *ticks)
{
	struct al_ticks inner = *ticks;

	inner.n = 0;
	for (size_t i = 0; i < ticks->n; i++)
		if (ticks->items[i].value >= scale->min && ticks->items[i].value <= scale->max)
			inner.items[inner.n++] = ticks->items[i];
	if (inner.n >= 2)
		*ticks = inner;
}

/* An axis too short for two labels gets none. */
static void find_ticks(const struct al_tick_request *request, struct al_ticks *ticks)
{
	if (!al_ticks_find(request, ticks))
		*ticks = (struct al_ticks){0};
}

void al_scene_find_y_ticks(struct al_scene *scene, const struct al_dimension *y)
{
	struct al_tick_request r = request(y, &scene->y);

	if (take_ticks(scene, &scene->plot->figure->y, y, &scene->y_ticks))
		return;
	r.spacing_pt = fmax(26, r.length_pt / 6);
	r.gap_pt = 1;
	r.extent_pt = height_of_label;
	r.context = scene->canvas;
	find_ticks(&r, &scene->y_ticks);
	reach_ticks(&scene->y, &scene->y_ticks);
}

void al_scene_find_x_ticks(struct al_scene *scene, size_t panel, const struct al_dimension *x)
{
	struct al_ticks *ticks = &scene->x_ticks[panel];
	struct al_tick_request r = request(x, &scene->x[panel]);

	if (take_ticks(scene, &scene->plot->figure->x, x, ticks))
		return;
	r.spacing_pt = fmax(40, r.length_pt / 8);
	r.gap_pt = 4;
	r.extent_pt = width_of_label;
	r.context = scene->canvas;
	find_ticks(&r, ticks);
	drop_outer_ticks(&scene->x[panel], ticks);
	reach_ticks(&scene->x[panel], ticks);
}

void al_scene_add_x_labels(const struct al_scene *scene, size_t panel, struct al_scene *out)
{
	const struct al_ticks *ticks = &scene->x_ticks[panel];
	const double top = scene->frames[panel].bottom + AL_TICK_PT + AL_TICK_GAP_PT;

	for (size_t i = 0; i < ticks->n; i++)
		al_scene_write(out, al_tick_label(ticks->items[i].label),
			al_scene_x(scene, panel, ticks->items[i].value), top, 0.5, 0);
}

void al_scene_add_y_labels(const struct al_scene *scene, size_t panel, struct al_scene *out)
{
	const struct al_ticks *ticks = &scene->y_ticks;
	const double right = scene->frames[panel].left - AL_TICK_PT - AL_TICK_GAP_PT;

	for (size_t i = 0; i < ticks->n; i++)
		al_scene_write(out, al_tick_label(ticks->items[i].label), right,
			al_scene_y(scene, panel, ticks->items[i].value), 1, 0.5);
}

double al_ticks_width(struct al_canvas *canvas, const struct al_ticks *ticks)
{
	double most = 0;

	for (size_t i = 0; i < ticks->n; i++)
		most = fmax(most, al_canvas_tick_width(canvas, ticks->items[i].label));
	return most;
}
