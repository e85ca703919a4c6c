/* The Pareto front of points: those that no other point of the panel is as good as on both axes and
 * better on one. A point is dominated if that holds wherever in their spreads both are. */

#include "figure/mark.h"

struct candidate {
	struct al_point *point;
	double x, y; /* the less, the better */
	double x_spread, y_spread;
};

/* The better x first; of the same x the better y. */
static int by_quality(const void *a, const void *b)
{
	const struct candidate *p = a, *q = b;

	const int order = al_compare(p->x, q->x);

	return order ? order : al_compare(p->y, q->y);
}

static int by_best_x(const void *a, const void *b)
{
	const struct candidate *p = a, *q = b;

	return al_compare(p->x - p->x_spread, q->x - q->x_spread);
}

static int by_worst_x(const void *a, const void *b)
{
	const struct candidate *p = a, *q = b;

	return al_compare(p->x + p->x_spread, q->x + q->x_spread);
}

/* Spreads that just meet overlap, however a sum is rounded. */
static double spread_of(const struct al_cell *cell)
{
	return cell->spread ? mpq_get_d(cell->spread) * (1 + 1e-9) : 0;
}

static size_t list_candidates(const struct al_plot *plot, const struct al_points *points,
	struct candidate *out)
{
	const struct al_pareto *wanted = &plot->figure->frontier;
	size_t n = 0;

	for (size_t i = 0; i < points->n; i++) {
		struct al_point *p = &points->items[i];
		const struct al_cell *cells = plot->table->rows[p->row];
		if (!isnan(p->y))
			out[n++] = (struct candidate){p, wanted->better_x ? -p->x : p->x,
				wanted->better_y ? -p->y : p->y, spread_of(&cells[plot->columns.x]),
				spread_of(&cells[plot->columns.y[0]])};
	}
	return n;
}

static void find_front(struct al_plot *plot, struct candidate *c, size_t n, struct al_front *front)
{
	double best = INFINITY;

	front->points = al_new_array(&plot->arena, const struct al_point *, n);
	qsort(c, n, sizeof(*c), by_quality);
	for (size_t i = 0; i < n; i++) {
		const bool is_same = front->n > 0 && c[i].y == best
			&& c[i].point->x == front->points[front->n - 1]->x;
		if (c[i].y >= best && !is_same)
			continue;
		best = c[i].y;
		front->points[front->n++] = c[i].point;
	}
}

/* Among those whose x is surely better, `best_y` has the least worst y; `best_equal` also among
 * those whose x is surely as good. */
static void mark_dominated(struct candidate *c, size_t n, struct candidate *others)
{
	double best_y = INFINITY, best_equal = INFINITY;
	size_t better = 0, as_good = 0;

	memcpy(others, c, n * sizeof(*c));
	qsort(c, n, sizeof(*c), by_best_x);
	qsort(others, n, sizeof(*others), by_worst_x);
	for (size_t i = 0; i < n; i++) {
		const double x = c[i].x - c[i].x_spread, y = c[i].y - c[i].y_spread;
		for (; better < n && others[better].x + others[better].x_spread < x; better++)
			best_y = fmin(best_y, others[better].y + others[better].y_spread);
		for (; as_good < n && others[as_good].x + others[as_good].x_spread <= x; as_good++)
			best_equal = fmin(best_equal, others[as_good].y + others[as_good].y_spread);
		c[i].point->is_dominated = best_y <= y || best_equal < y;
	}
}

void al_plot_find_fronts(struct al_plot *plot)
{
	plot->fronts = al_new_array(&plot->arena, struct al_front, plot->n_panels);
	for (size_t panel = 0; panel < plot->n_panels; panel++) {
		const struct al_points points = al_points_of_panel(&plot->points, panel);
		struct candidate *c = al_new_array(&plot->arena, struct candidate, 2 * points.n);
		const size_t n = list_candidates(plot, &points, c);
		find_front(plot, c, n, &plot->fronts[panel]);
		mark_dominated(c, n, c + n);
	}
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
