/* Points of a plot: their names, their order, and the means of strands. */

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

/* A number needs the name of what it counts: "Heads = 32". */
const char *al_plot_name(struct al_plot *plot, size_t row, int column)
{
	if (column < 0)
		return "";
	const struct al_cell *cell = &plot->table->rows[row][column];
	const char *text = al_plot_cell_text(&plot->arena, cell);
	return cell->kind == AL_CELL_EXACT || cell->kind == AL_CELL_REAL
		? al_format(&plot->arena, "%s = %s", plot->table->columns[column].title, text)
		: text;
}

/* ---- their order ---- */

/* 0: the point is one of the series'. */
static int compare_series(const struct al_point *p, size_t panel, size_t series)
{
	const int order = al_compare(p->panel, panel);

	return order ? order : al_compare(p->series, series);
}

static int by_x(const void *a, const void *b)
{
	const struct al_point *p = a, *q = b;
	int order = compare_series(p, q->panel, q->series);

	order = order ? order : al_compare(p->strand, q->strand);
	order = order ? order : al_compare(p->x, q->x);
	return order ? order : al_compare(p->row, q->row);
}

static int by_row(const void *a, const void *b)
{
	const struct al_point *p = a, *q = b;
	const int order = compare_series(p, q->panel, q->series);

	return order ? order : al_compare(p->row, q->row);
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
		const int order = compare_series(&all->items[middle], panel, series);
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

/* ---- strands: many faint curves of one series, and the mean and the range of what they hold at
 * each x ---- */

bool al_plot_is_band(const struct al_plot *plot, size_t series)
{
	const struct al_strands *s = &plot->figure->strands;

	return s->column && al_find_name(plot->series[series], s->bands, s->n_bands) >= 0;
}

static bool is_beside(const struct al_point *a, const struct al_point *b)
{
	return a->panel == b->panel && a->series == b->series && a->x == b->x;
}

/* The points at one x, from `first` on; their number. */
static size_t take_mean(const struct al_points *points, size_t first, struct al_point *out)
{
	size_t n = 0, n_known = 0;

	*out = points->items[first];
	out->y = 0;
	out->low = INFINITY;
	out->high = -INFINITY;
	for (; first + n < points->n && is_beside(&points->items[first + n], out); n++) {
		double y = points->items[first + n].y;
		if (isnan(y))
			continue;
		n_known++;
		out->y += y;
		out->low = fmin(out->low, y);
		out->high = fmax(out->high, y);
	}
	out->y = n_known > 0 ? out->y / (double)n_known : NAN;
	return n;
}

/* In place: a mean is written at or before the first of its points, which are read by then. */
void al_plot_part_strands(struct al_plot *plot)
{
	struct al_points *points = &plot->points, *strands = &plot->strands;
	size_t n = 0;

	strands->items = al_new_array(&plot->arena, struct al_point, points->n);
	for (; strands->n < points->n; strands->n++) {
		strands->items[strands->n] = points->items[strands->n];
		points->items[strands->n].strand = 0;
	}
	al_points_sort(points, true);
	for (size_t first = 0; first < points->n; n++) {
		struct al_point mean;
		first += take_mean(points, first, &mean);
		points->items[n] = mean;
	}
	points->n = n;
}
