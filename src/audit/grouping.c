/* Groups of heads that share a key and a value. */
#include "audit/grouping.h"

#include <stdlib.h>

/* ---- overlaps ---- */

static double block_squared(struct al_matrix g, size_t i, size_t j, size_t width)
{
	return al_squared_norm(al_view(al_part(g, i * width, j * width, width, width)));
}

/* Adds ||L_i^T L_j||^2 / ||L||^4. */
static void add_overlaps(const struct al_stack *s, struct al_matrix out)
{
	double scale = s->norm * s->norm * s->norm * s->norm;

	for (size_t j = 0; j < s->n; j++)
		for (size_t i = 0; i < s->n; i++)
			out.data[i + j * out.ld] += block_squared(s->gram, i, j, s->width) / scale;
}

/* ---- the search ---- */

/* A head's overlap with the group that place `at` is in, not counting the one who sits there. */
static double overlap_with(struct al_matrix overlaps, const size_t *order, size_t size, size_t head,
	size_t at)
{
	size_t first = at / size * size;
	double sum = 0;

	for (size_t i = first; i < first + size; i++)
		if (i != at)
			sum += overlaps.data[head + order[i] * overlaps.ld];
	return sum;
}

static double gain_of_swap(struct al_matrix overlaps, const size_t *order, size_t size, size_t a,
	size_t b)
{
	return overlap_with(overlaps, order, size, order[a], b)
		+ overlap_with(overlaps, order, size, order[b], a)
		- overlap_with(overlaps, order, size, order[a], a)
		- overlap_with(overlaps, order, size, order[b], b);
}

static void swap(size_t *a, size_t *b)
{
	size_t t = *a;

	*a = *b;
	*b = t;
}

/* The best swap of all pairs, again and again: each raises a bounded sum by more than rounding. */
static bool swap_best(struct al_matrix overlaps, size_t *order, size_t size)
{
	size_t n = overlaps.rows, best_a = 0, best_b = 0;
	double best = 1e-12;

	for (size_t a = 0; a < n; a++) {
		for (size_t b = (a / size + 1) * size; b < n; b++) {
			double gain = gain_of_swap(overlaps, order, size, a, b);
			if (gain > best) {
				best = gain;
				best_a = a;
				best_b = b;
			}
		}
	}
	swap(&order[best_a], &order[best_b]);
	return best_a != best_b;
}

static int compare(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

bool al_group_heads(const struct al_stack *keys, const struct al_stack *values, size_t size,
	size_t *order, struct al_error *err)
{
	struct al_matrix overlaps;

	for (size_t i = 0; i < keys->n; i++)
		order[i] = i;
	if (!al_matrix_init(&overlaps, keys->n, keys->n, err))
		return false;
	add_overlaps(keys, overlaps);
	if (values)
		add_overlaps(values, overlaps);
	for (size_t swaps = 0; swaps < 4 * keys->n; swaps++)
		if (!swap_best(overlaps, order, size))
			break;
	al_matrix_finish(&overlaps);
	for (size_t first = 0; first < keys->n; first += size)
		qsort(order + first, size, sizeof(*order), compare);
	qsort(order, keys->n / size, size * sizeof(*order), compare);
	return true;
}

void al_group_print(const size_t *order, size_t n, size_t size, struct al_text *out)
{
	for (size_t i = 0; i < n; i++)
		al_text_addf(out, "%s%zu", i == 0 ? "" : i % size == 0 ? ", " : " ", order[i]);
}
