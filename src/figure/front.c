/* The Pareto front of points: those that no other point of the panel is as good as on both axes and
 * better on one. */
#include <math.h>
#include <stdlib.h>

#include "figure/mark.h"

static int compare(double a, double b, bool is_higher_better)
{
	if (a == b)
		return 0;
	return (a > b) == is_higher_better ? -1 : 1;
}

struct candidate {
	struct al_point *point;
	bool x_is_higher, y_is_higher; /* better */
};

/* The better x first; of the same x the better y. */
static int by_quality(const void *a, const void *b)
{
	const struct candidate *p = a, *q = b;
	const int order = compare(p->point->x, q->point->x, p->x_is_higher);

	return order ? order : compare(p->point->y, q->point->y, p->y_is_higher);
}

static size_t gather(struct al_plot *plot, size_t panel, struct candidate *out)
{
	const struct al_pareto *wanted = &plot->figure->frontier;
	size_t n = 0;

	for (size_t series = 0; series < plot->n_series; series++) {
		const struct al_points *points = al_plot_points(plot, panel, series);
		for (size_t i = 0; i < points->n; i++)
			if (!isnan(points->items[i].y))
				out[n++] = (struct candidate){&points->items[i],
					wanted->x_is_higher, wanted->y_is_higher};
	}
	return n;
}

static size_t count(const struct al_plot *plot, size_t panel)
{
	size_t n = 0;

	for (size_t series = 0; series < plot->n_series; series++)
		n += al_plot_points(plot, panel, series)->n;
	return n;
}

static void find_front(struct al_plot *plot, size_t panel)
{
	struct candidate *c = al_new_array(&plot->arena, struct candidate, count(plot, panel));
	const size_t n = gather(plot, panel, c);
	struct al_front *front = &plot->fronts[panel];
	const struct al_point *best = NULL;

	front->points = al_new_array(&plot->arena, const struct al_point *, n);
	qsort(c, n, sizeof(*c), by_quality);
	for (size_t i = 0; i < n; i++) {
		struct al_point *point = c[i].point;
		const int order = best ? compare(point->y, best->y, c[i].y_is_higher) : -1;
		point->is_dominated = order > 0 || (order == 0 && point->x != best->x);
		if (point->is_dominated)
			continue;
		best = point;
		front->points[front->n++] = point;
	}
}

void al_plot_find_fronts(struct al_plot *plot)
{
	plot->fronts = al_new_array(&plot->arena, struct al_front, plot->n_panels);
	for (size_t panel = 0; panel < plot->n_panels; panel++)
		find_front(plot, panel);
}

/* Between two neighbours the front is a step: what can be had is never better than a point. */
size_t al_front_steps(const struct al_scene *scene, size_t panel, size_t index,
	struct al_segment out[2])
{
	const struct al_front *front = &scene->plot->fronts[panel];
	const struct al_point *from = front->points[index], *to = front->points[index + 1];

	if (!al_scene_holds(scene, panel, from) || !al_scene_holds(scene, panel, to))
		return 0;
	const double x0 = al_scene_x(scene, panel, from->x), y0 = al_scene_y(scene, panel, from->y);
	const double x1 = al_scene_x(scene, panel, to->x), y1 = al_scene_y(scene, panel, to->y);
	out[0] = (struct al_segment){x0, y0, x1, y0};
	out[1] = (struct al_segment){x1, y0, x1, y1};
	return 2;
}
