/* Rotary positions (Su et al. 2021). With queries at m and keys at n the score is
 *
 *     x W_Q R(m)^T R(n) W_K^T y^T = x (W_Q R(m-n)^T) W_K^T y^T,
 *
 * R(t) rotating pair i of a head's first `rotary_width` dimensions by t * base^(-2i/width). Halves
 * pair dimension i with i + width/2, interleaved ones 2i with 2i + 1. */
#include "audit/rotary.h"

#include <math.h>

#include "audit/forms.h"

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
		double speed = attention->rotary_speeds
			? attention->rotary_speeds[i]
			: pow((double)attention->rotary_base, -(double)i / (double)n_pairs);
		rotate(head.data + first * head.ld, head.data + second * head.ld, head.rows,
			offset * speed);
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

struct al_complex al_pair_product(struct al_view gram, size_t a, size_t b, size_t first,
	size_t second)
{
	const double *x = gram.data + (b + first) * gram.ld + a,
		     *y = gram.data + (b + second) * gram.ld + a;

	return (struct al_complex){x[first] + y[second], y[first] - x[second]};
}

static double inner_of_pairs(const struct al_attention *attention, struct al_view q,
	struct al_view k, const size_t at_q[2], const size_t at_k[2], size_t width)
{
	const size_t n = (size_t)attention->rotary_width / 2;
	const bool is_interleaved = attention->rotary_pairs == AL_PAIRS_INTERLEAVED;
	double sum = 0;

	for (size_t p = 0; p < n; p++) {
		const size_t first = is_interleaved ? 2 * p : p,
			     second = is_interleaved ? 2 * p + 1 : p + n;
		const struct al_complex a = al_pair_product(q, at_q[0], at_q[1], first, second);
		const struct al_complex b = al_pair_product(k, at_k[0], at_k[1], first, second);
		sum += (a.re * b.re + a.im * b.im) / 2;
	}
	for (size_t j = 2 * n; j < width; j++)
		for (size_t i = 2 * n; i < width; i++)
			sum += q.data[at_q[0] + i + (at_q[1] + j) * q.ld]
				* k.data[at_k[0] + i + (at_k[1] + j) * k.ld];
	return sum;
}

bool al_rotary_inner(const struct al_heads *heads, const struct al_attention *attention,
	struct al_view query_gram, struct al_view key_gram, struct al_matrix out,
	struct al_error *err)
{
	const size_t w = heads->d_head;
	struct al_biased_gram q = {0}, k = {0};
	bool ok = al_biased_gram_init(&q, query_gram, heads->bias[AL_QUERY], err)
		&& al_biased_gram_init(&k, key_gram, heads->bias[AL_KEY], err);

	for (size_t j = 0; ok && j < heads->n_heads; j++)
		for (size_t i = 0; i < heads->n_heads; i++) {
			const size_t at_q[] = {i * w, j * w};
			const size_t at_k[] = {al_kv_head(heads, i) * w, al_kv_head(heads, j) * w};
			out.data[i + j * out.ld] = inner_of_pairs(attention, q.view, k.view, at_q,
				at_k, w);
		}
	al_matrix_finish(&k.own);
	al_matrix_finish(&q.own);
	return ok;
}
