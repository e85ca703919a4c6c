/* The Pareto front of points: those that no other point of the panel is as good as on both axes and
 * better on one. */

#include "figure/mark.h"

struct candidate {
	struct al_point *point;
	double x, y; /* the less, the better */
};

/* The better x first; of the same x the better y. */
static int by_quality(const void *a, const void *b)
{
	const struct candidate *p = a, *q = b;

	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return (p->y > q->y) - (p->y < q->y);
}

static void find_front(struct al_plot *plot, size_t panel)
{
	const struct al_pareto *wanted = &plot->figure->frontier;
	const struct al_points points = al_points_of_panel(&plot->points, panel);
	struct candidate *c = al_new_array(&plot->arena, struct candidate, points.n);
	struct al_front *front = &plot->fronts[panel];
	const struct candidate *best = NULL;
	size_t n = 0;

	for (size_t i = 0; i < points.n; i++) {
		struct al_point *p = &points.items[i];
		if (!isnan(p->y))
			c[n++] = (struct candidate){p, wanted->better_x ? -p->x : p->x,
				wanted->better_y ? -p->y : p->y};
	}
	front->points = al_new_array(&plot->arena, const struct al_point *, n);
	qsort(c, n, sizeof(*c), by_quality);
	for (size_t i = 0; i < n; i++) {
		c[i].point->is_dominated = best
			&& (c[i].y > best->y || (c[i].y == best->y && c[i].x != best->x));
		if (c[i].point->is_dominated)
			continue;
		best = &c[i];
		front->points[front->n++] = c[i].point;
	}
}

void al_plot_find_fronts(struct al_plot *plot)
{
	plot->fronts = al_new_array(&plot->arena, struct al_front, plot->n_panels);
	for (size_t panel = 0; panel < plot->n_panels; panel++)
		find_front(plot, panel);
}

/* Between two neighbors the front is a step: what can be had is never better than a point. */
size_t al_front_lines(const struct al_scene *scene, size_t panel, struct al_segment **out)
{
	const struct al_front *front = scene->plot->fronts ? &scene->plot->fronts[panel] : NULL;
	size_t n = 0;

	*out = al_new_array(scene->arena, struct al_segment, front ? 2 * front->n : 0);
	for (size_t i = 0; front && i + 1 < front->n; i++) {
		const struct al_point *from = front->points[i], *to = front->points[i + 1];
		const struct al_spot a = al_scene_at(scene, from), b = al_scene_at(scene, to);
		if (!al_scene_holds(scene, from) || !al_scene_holds(scene, to))
			continue;
		(*out)[n++] = (struct al_segment){a.x, a.y, b.x, a.y};
		(*out)[n++] = (struct al_segment){b.x, a.y, b.x, b.y};
	}
	return n;
}
