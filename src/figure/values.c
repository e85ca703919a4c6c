/* Values at the ends of bars, as tables print them; of a stack its sum. */

#include "figure/mark.h"

static const double gap_pt = 2;

/* Without digits of its own a value has three, or all if it is whole. */
static int digits_of(const struct al_column *column, const struct al_cell *cell, mpq_srcptr value)
{
	if (column->digits != AL_DIGITS_ALL)
		return column->digits;
	if (cell->kind == AL_CELL_EXACT && cell->digits > 0)
		return cell->digits;
	const bool is_whole = column->quantity == AL_QUANTITY_PLAIN
		&& mpz_cmp_ui(mpq_denref(value), 1) == 0;
	return is_whole ? 0 : AL_DIGITS_ALL;
}

/* A row's value, or the sum of its stack; NULL: one is missing. */
static const char *text_of(const struct al_scene *scene, const struct al_point *point)
{
	const struct al_plot *plot = scene->plot;
	const struct al_cell *cells = plot->table->rows[point->row];
	const int first = plot->columns.y[0];
	mpq_ptr sum = al_exact_new(scene->arena);
	char label[AL_TICK_LABEL_SIZE];

	for (size_t i = 0; i < plot->columns.n_y; i++)
		if (!al_plot_add_value(scene->arena, sum, &cells[plot->columns.y[i]]))
			return NULL;
	const struct al_column *column = &plot->table->columns[first];
	al_value_label(label, sum, column, digits_of(column, &cells[first], sum));
	return al_strdup(scene->arena, label);
}

/* Stacked parts share one: at the first. */
static bool has_value(const struct al_scene *scene, const struct al_point *point)
{
	return scene->plot->figure->n_stacked > 0 ? point->series == 0 : !isnan(point->y);
}

double al_scene_values_pt(const struct al_scene *scene)
{
	const struct al_figure *figure = scene->plot->figure;
	double most = 0;

	if (!figure->writes_values || !scene->plot->mark->has_slots)
		return 0;
	if (!figure->is_horizontal)
		return al_line_height(scene->canvas, AL_FONT_TICK) + 2 * gap_pt;
	for (size_t i = 0; i < scene->plot->points.n; i++) {
		const struct al_point *point = &scene->plot->points.items[i];
		const char *text = has_value(scene, point) ? text_of(scene, point) : NULL;
		if (text)
			most = fmax(most, al_canvas_tick_width(scene->canvas, text));
	}
	return most + 2 * gap_pt;
}

/* Beyond the bar and its error bar. */
static void add_value(struct al_scene *scene, const struct al_point *point, const char *text)
{
	const bool is_stacked = scene->plot->figure->n_stacked > 0;
	const bool is_below = !is_stacked && point->y < 0;
	const struct al_label label = al_tick_label(text);
	const struct al_spot end = scene->plot->mark->find_end(scene, point);
	const double reach = is_below ? point->low : point->high;
	double along = scene->plot->figure->is_horizontal ? end.x : end.y;

	if (!is_stacked)
		along = al_scene_clamped_y(scene, point->panel, reach);
	if (scene->plot->figure->is_horizontal)
		al_scene_write(scene, label, along + (is_below ? -gap_pt : gap_pt), end.y,
			is_below ? 1 : 0, 0.5);
	else
		al_scene_write(scene, label, end.x, along + (is_below ? gap_pt : -gap_pt) / 2, 0.5,
			is_below ? 0 : 1);
}

void al_scene_add_values(struct al_scene *scene)
{
	if (!scene->plot->figure->writes_values || !scene->plot->mark->has_slots)
		return;
	for (size_t i = 0; i < scene->plot->points.n; i++) {
		const struct al_point *point = &scene->plot->points.items[i];
		const char *text = has_value(scene, point) ? text_of(scene, point) : NULL;
		if (text)
			add_value(scene, point, text);
	}
}
