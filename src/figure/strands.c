/* Strands: many faint curves of one series, and the mean and the range of what they hold at each
 * x. */
#include <math.h>
#include <stdlib.h>

#include "figure/plot.h"

static size_t index_of(size_t panel, size_t series)
{
	return panel * AL_MOST_SERIES + series;
}

const struct al_points *al_plot_strands(const struct al_plot *plot, size_t panel, size_t series)
{
	return &plot->strands[index_of(panel, series)];
}

bool al_plot_is_band(const struct al_plot *plot, size_t series)
{
	const struct al_strands *s = &plot->figure->strands;

	return s->column && al_find_name(plot->series[series], s->bands, s->n_bands) >= 0;
}

static int by_x(const void *a, const void *b)
{
	const struct al_point *p = a, *q = b;

	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return p->row < q->row ? -1 : p->row > q->row;
}

/* The points at one x, from `first` on; their number. */
static size_t take_mean(const struct al_points *points, size_t first, struct al_point *out)
{
	size_t n = 0, n_known = 0;

	*out = points->items[first];
	out->y = 0;
	out->low = INFINITY;
	out->high = -INFINITY;
	for (; first + n < points->n && points->items[first + n].x == out->x; n++) {
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
static void reduce(struct al_points *points)
{
	size_t n = 0;

	if (points->n > 0)
		qsort(points->items, points->n, sizeof(*points->items), by_x);
	for (size_t first = 0; first < points->n; n++) {
		struct al_point mean;
		first += take_mean(points, first, &mean);
		points->items[n] = mean;
	}
	points->n = n;
}

void al_plot_part_strands(struct al_plot *plot)
{
	plot->strands = al_new_array(&plot->arena, struct al_points,
		AL_MOST_PANELS * AL_MOST_SERIES);
	for (size_t panel = 0; panel < plot->n_panels; panel++)
		for (size_t series = 0; series < plot->n_series; series++) {
			struct al_points *points = &plot->points[index_of(panel, series)];
			struct al_points *strands = &plot->strands[index_of(panel, series)];
			strands->items = al_new_array(&plot->arena, struct al_point, points->n + 1);
			for (; strands->n < points->n; strands->n++)
				strands->items[strands->n] = points->items[strands->n];
			reduce(points);
		}
}
