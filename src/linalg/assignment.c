/* The assignment problem, by shortest augmenting paths. */
#include "linalg/assignment.h"

/* Rows and columns have potentials u, v with u[i] + v[j] <= cost[i][j], and equality where row i
 * has column j. Column n is where a row begins that has none yet. */
struct assigning {
	struct al_view gain;
	size_t n;
	double *u, *v;
	size_t *row; /* of each column, n: none */
	/* Of the search: the least reduced cost found to each column, the column before it, and
	 * whether its path is final. */
	double *least;
	size_t *before;
	bool *is_done;
};

static double reduced_cost(const struct assigning *a, size_t row, size_t column)
{
	return -a->gain.data[row + column * a->gain.ld] - a->u[row] - a->v[column];
}

/* The nearest column that isn't final, once the paths through `column` are known; `*step` is how
 * far it is. */
static size_t extend(struct assigning *a, size_t column, double *step)
{
	size_t nearest = a->n;

	*step = INFINITY;
	for (size_t j = 0; j < a->n; j++) {
		if (a->is_done[j])
			continue;
		const double cost = reduced_cost(a, a->row[column], j);
		if (cost < a->least[j]) {
			a->least[j] = cost;
			a->before[j] = column;
		}
		if (a->least[j] < *step) {
			*step = a->least[j];
			nearest = j;
		}
	}
	return nearest;
}

static void move_potentials(struct assigning *a, double step)
{
	for (size_t j = 0; j <= a->n; j++)
		if (a->is_done[j]) {
			a->u[a->row[j]] += step;
			a->v[j] -= step;
		} else {
			a->least[j] -= step;
		}
}

static void add_row(struct assigning *a, size_t row)
{
	size_t column = a->n;

	a->row[column] = row;
	for (size_t j = 0; j <= a->n; j++) {
		a->least[j] = INFINITY;
		a->is_done[j] = false;
	}
	do {
		double step;
		a->is_done[column] = true;
		column = extend(a, column, &step);
		move_potentials(a, step);
	} while (a->row[column] < a->n);
	for (; column != a->n; column = a->before[column])
		a->row[column] = a->row[a->before[column]];
}

void al_assign(struct al_view gain, size_t *to)
{
	AL_ARENA(arena);
	const size_t n = gain.rows;
	struct assigning a = {gain, n, al_new_array(&arena, double, n + 1),
		al_new_array(&arena, double, n + 1), al_new_array(&arena, size_t, n + 1),
		al_new_array(&arena, double, n + 1), al_new_array(&arena, size_t, n + 1),
		al_new_array(&arena, bool, n + 1)};

	for (size_t j = 0; j < n; j++)
		a.row[j] = n;
	for (size_t i = 0; i < n; i++)
		add_row(&a, i);
	for (size_t j = 0; j < n; j++)
		to[a.row[j]] = j;
}
