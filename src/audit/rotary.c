/* Rotary positions (Su et al. 2021). With queries at m and keys at n the score is
 *
 *     x W_Q R(m)^T R(n) W_K^T y^T = x (W_Q R(m-n)^T) W_K^T y^T,
 *
 * R(t) rotating pair i of a head's first `rotary_width` dimensions by t * base^(-2i/width). Halves
 * pair dimension i with i + width/2, interleaved ones 2i with 2i + 1. */
#include "audit/rotary.h"

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
	const size_t width = (size_t)attention->rotary_width, n_pairs = width / 2;

	for (size_t i = 0; i < n_pairs; i++) {
		const struct al_rotary_pair pair = al_rotary_pair(attention, width, i);
		const double speed = attention->rotary_speeds
			? attention->rotary_speeds[i]
			: pow((double)attention->rotary_base, -(double)i / (double)n_pairs);
		rotate(head.data + pair.first * head.ld, head.data + pair.second * head.ld,
			head.rows, offset * speed);
	}
}

void al_rotate_queries(const struct al_attention *attention, int64_t offset,
	struct al_matrix queries)
{
	size_t width = (size_t)attention->d_head;

	if (offset == 0 || !al_has_offset(attention))
		return;
	for (size_t i = 0; i < queries.cols / width; i++)
		rotate_head(attention, (double)offset,
			al_part(queries, 0, i * width, queries.rows, width));
}

/* ---- over all offsets ---- */

struct al_complex al_pair_product(struct al_view gram, size_t a, size_t b,
	struct al_rotary_pair pair)
{
	const double *x = gram.data + (b + pair.first) * gram.ld + a,
		     *y = gram.data + (b + pair.second) * gram.ld + a;

	return (struct al_complex){x[pair.first] + y[pair.second], y[pair.first] - x[pair.second]};
}

static double inner_of_pairs(const struct al_attention *attention, struct al_view q,
	struct al_view k, const size_t at_q[2], const size_t at_k[2], size_t width)
{
	const size_t rotated = (size_t)attention->rotary_width / 2 * 2;
	double sum = 0;

	for (size_t p = 0; p < rotated / 2; p++) {
		const struct al_rotary_pair pair = al_rotary_pair(attention, rotated, p);
		const struct al_complex a = al_pair_product(q, at_q[0], at_q[1], pair);
		const struct al_complex b = al_pair_product(k, at_k[0], at_k[1], pair);
		sum += (a.re * b.re + a.im * b.im) / 2;
	}
	for (size_t j = rotated; j < width; j++)
		for (size_t i = rotated; i < width; i++)
			sum += q.data[at_q[0] + i + (at_q[1] + j) * q.ld]
				* k.data[at_k[0] + i + (at_k[1] + j) * k.ld];
	return sum;
}

void al_rotary_inner(const struct al_heads *heads, const struct al_attention *attention,
	struct al_view queries, struct al_view keys, struct al_matrix out)
{
	const size_t w = heads->d_head;

	for (size_t j = 0; j < heads->n_heads; j++)
		for (size_t i = 0; i < heads->n_heads; i++) {
			const size_t at_q[] = {i * w, j * w};
			const size_t at_k[] = {al_kv_head(heads, i) * w, al_kv_head(heads, j) * w};
			out.data[i + j * out.ld] = inner_of_pairs(attention, queries, keys, at_q,
				at_k, w);
		}
}

bool al_has_offset(const struct al_attention *attention)
{
	return attention->is_rotary && !attention->is_latent && attention->rotary_width > 0;
}

struct al_rotary_pair al_rotary_pair(const struct al_attention *attention, size_t width, size_t i)
{
	return attention->rotary_pairs == AL_PAIRS_INTERLEAVED
		? (struct al_rotary_pair){2 * i, 2 * i + 1}
		: (struct al_rotary_pair){i, i + width / 2};
}
