/* Strands: many faint curves of one series, and the mean and the range of what they hold at each
 * x. */
#include <math.h>

#include "figure/plot.h"

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
