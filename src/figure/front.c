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

static void find_front(struct al_plot *plot, size_t panel)
{
	const struct al_pareto *wanted = &plot->figure->frontier;
	const struct al_points points = al_points_of_panel(&plot->points, panel);
	struct candidate *c = al_new_array(&plot->arena, struct candidate, points.n);
	struct al_front *front = &plot->fronts[panel];
	const struct al_point *best = NULL;
	size_t n = 0;

	for (size_t i = 0; i < points.n; i++)
		if (!isnan(points.items[i].y))
			c[n++] = (struct candidate){&points.items[i], wanted->x_is_higher,
				wanted->y_is_higher};
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

	if (!al_scene_holds(scene, from) || !al_scene_holds(scene, to))
		return 0;
	const struct al_spot a = al_scene_at(scene, from), b = al_scene_at(scene, to);
	out[0] = (struct al_segment){a.x, a.y, b.x, a.y};
	out[1] = (struct al_segment){b.x, a.y, b.x, b.y};
	return 2;
}
