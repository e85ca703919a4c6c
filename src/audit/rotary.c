/* Rotary positions (Su et al. 2021). With queries at m and keys at n the score is
 *
 *     x W_Q R(m)^T R(n) W_K^T y^T = x (W_Q R(m-n)^T) W_K^T y^T,
 *
 * R(t) rotating pair i of a head's first `rotary_width` dimensions by t * base^(-2i/width). Halves
 * pair dimension i with i + width/2, interleaved ones 2i with 2i + 1. */
#include "audit/rotary.h"

#include <math.h>

/* [a b] R^T: the row's two numbers, rotated. */
static void rotate(double *a, double *b, size_t n, double angle)
{
	const double c = cos(angle), s = sin(angle);

	for (size_t i = 0; i < n; i++) {
		double x = a[i], y = b[i];
		a[i] = c * x - s * y;
		b[i] = s * x + c * y;
	}
}

static void rotate_head(const struct al_attention *attention, double offset, struct al_matrix head)
{
	size_t n_pairs = (size_t)attention->rotary_width / 2;
	bool is_interleaved = attention->rotary_pairs == AL_PAIRS_INTERLEAVED;

	for (size_t i = 0; i < n_pairs; i++) {
		size_t first = is_interleaved ? 2 * i : i,
		       second = is_interleaved ? 2 * i + 1 : i + n_pairs;
		double angle = offset
			* pow((double)attention->rotary_base, -(double)i / (double)n_pairs);
		rotate(head.data + first * head.ld, head.data + second * head.ld, head.rows, angle);
	}
}

void al_rotate_queries(const struct al_attention *attention, int64_t offset,
	struct al_matrix queries)
{
	size_t width = (size_t)attention->d_head;

	if (offset == 0 || !al_has_offset(attention))
		return;
	for (size_t i = 0; i < (size_t)attention->n_heads; i++)
		rotate_head(attention, (double)offset,
			al_part(queries, 0, i * width, queries.rows, width));
}
