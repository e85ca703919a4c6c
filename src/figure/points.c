/* Points of a plot: their names and their order. */
#include <stdlib.h>

#include "base/number.h"
#include "figure/plot.h"

const char *al_plot_cell_text(struct al_arena *arena, const struct al_cell *cell)
{
	if (cell->kind == AL_CELL_TEXT)
		return al_strdup(arena, cell->title ? cell->title : cell->text);
	if (cell->kind == AL_CELL_EXACT)
		return al_exact_text(arena, cell->exact);
	if (cell->kind == AL_CELL_REAL)
		return al_format(arena, "%.6g", cell->real);
	return "\u2013";
}

/* A number needs to be told what it counts: "Heads = 32". */
static const char *cell_name(struct al_arena *arena, const struct al_column *column,
	const struct al_cell *cell)
{
	const char *text = al_plot_cell_text(arena, cell);

	if (cell->kind != AL_CELL_EXACT && cell->kind != AL_CELL_REAL)
		return text;
	return al_format(arena, "%s = %s", column->title, text);
}

const char *al_plot_name(struct al_arena *arena, const struct al_table *table, size_t row,
	int column)
{
	return column < 0 ? ""
			  : cell_name(arena, &table->columns[column], &table->rows[row][column]);
}

/* ---- their order ---- */

static int compare(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int by_x(const void *a, const void *b)
{
	const struct al_point *p = a, *q = b;
	int order = compare(p->panel, q->panel);

	order = order ? order : compare(p->series, q->series);
	order = order ? order : compare(p->strand, q->strand);
	order = order ? order : (p->x > q->x) - (p->x < q->x);
	return order ? order : compare(p->row, q->row);
}

static int by_row(const void *a, const void *b)
{
	const struct al_point *p = a, *q = b;
	int order = compare(p->panel, q->panel);

	order = order ? order : compare(p->series, q->series);
	return order ? order : compare(p->row, q->row);
}

void al_points_sort(struct al_points *points, bool by_their_x)
{
	if (points->n > 0)
		qsort(points->items, points->n, sizeof(*points->items), by_their_x ? by_x : by_row);
}

/* The first point of a series, or of the next one that has points. */
static size_t find_first(const struct al_points *all, size_t panel, size_t series)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		const size_t middle = (low + high) / 2;
		const struct al_point *p = &all->items[middle];
		int order = compare(p->panel, panel);
		order = order ? order : compare(p->series, series);
		*(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
	}
	return low;
}

struct al_points al_points_of_series(const struct al_points *all, size_t panel, size_t series)
{
	const size_t first = find_first(all, panel, series);

	return (struct al_points){all->items + first, find_first(all, panel, series + 1) - first};
}

struct al_points al_points_of_panel(const struct al_points *all, size_t panel)
{
	const size_t first = find_first(all, panel, 0);

	return (struct al_points){all->items + first, find_first(all, panel + 1, 0) - first};
}
