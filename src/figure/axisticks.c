/* Ticks of a laid out axis: those that the figure asks for, or the ones that read best. */

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

/* The ticks that the figure asks for. */
static bool take_ticks(const struct al_scene *scene, const struct al_axis *axis,
	const struct al_dimension *d, struct al_ticks *ticks)
{
	const char *names[AL_MOST_TICKS];

	*ticks = (struct al_ticks){0};
	for (size_t i = 0; i < axis->n_ticks && ticks->n < AL_MOST_TICKS; i++)
		if (axis->ticks[i].value >= d->min && axis->ticks[i].value <= d->max) {
			names[ticks->n] = axis->ticks[i].name;
			ticks->items[ticks->n++].value = axis->ticks[i].value;
		}
	if (d->is_date)
		al_ticks_label_dates(ticks);
	else
		al_ticks_label(ticks, d->quantity, d->is_log);
	for (size_t i = 0; i < ticks->n; i++)
		if (names[i])
			snprintf(ticks->items[i].label, AL_TICK_LABEL_SIZE, "%s", names[i]);
	return axis->n_ticks > 0 && ticks->n >= scene->least_asked_ticks;
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

/* An axis too short for two labels gets none; others grow to ticks that lie beyond the data. */
void al_scene_find_ticks(struct al_scene *scene, size_t panel, bool is_x,
	const struct al_dimension *d)
{
	const struct al_figure *figure = scene->plot->figure;
	struct al_ruler *ruler = is_x ? &scene->x[panel] : &scene->y[panel];
	struct al_scale *scale = &ruler->scale;
	struct al_ticks *ticks = &ruler->ticks;
	const double length_pt = fabs(scale->end_pt - scale->start_pt);
	const bool is_across = is_x != figure->is_horizontal;
	const struct al_tick_request request = {.axis = *d,
		.length_pt = length_pt,
		.spacing_pt = is_across ? fmax(40, length_pt / 8) : fmax(26, length_pt / 6),
		.gap_pt = is_across ? 4 : 1,
		.extent_pt = is_across ? width_of_label : height_of_label,
		.context = scene->canvas};

	if (take_ticks(scene, is_x ? &figure->x : &figure->y, d, ticks)
		|| !al_ticks_find(&request, ticks))
		return;
	if (is_x)
		drop_outer_ticks(scale, ticks);
	if (d->is_date)
		al_ticks_label_dates(ticks); /* the first that is left has the year */
	scale->min = fmin(scale->min, ticks->items[0].value);
	scale->max = fmax(scale->max, ticks->items[ticks->n - 1].value);
}

void al_scene_add_tick_labels(const struct al_scene *scene, size_t panel, bool is_x,
	struct al_scene *out)
{
	const struct al_ticks *ticks = is_x ? &scene->x[panel].ticks : &scene->y[panel].ticks;
	const double top = scene->frames[panel].bottom + AL_TICK_PT + AL_TICK_GAP_PT;
	const double right = scene->frames[panel].left - AL_TICK_PT - AL_TICK_GAP_PT;

	for (size_t i = 0; i < ticks->n; i++) {
		const double value = ticks->items[i].value;
		const struct al_label label = al_tick_label(ticks->items[i].label);
		const double at = is_x ? al_scene_x(scene, panel, value)
				       : al_scene_y(scene, panel, value);
		if (is_x != scene->plot->figure->is_horizontal)
			al_scene_write(out, label, at, top, 0.5, 0);
		else
			al_scene_write(out, label, right, at, 1, 0.5);
	}
}

double al_ticks_width(struct al_canvas *canvas, const struct al_ticks *ticks)
{
	double most = 0;

	for (size_t i = 0; i < ticks->n; i++)
		most = fmax(most, al_canvas_tick_width(canvas, ticks->items[i].label));
	return most;
}
