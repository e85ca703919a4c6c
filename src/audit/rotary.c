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
	for (size_t i = 0; i < (size_t)attention->n_heads; i++)
		rotate_head(attention, (double)offset,
			al_part(queries, 0, i * width, queries.rows, width));
}

/* ---- over all offsets ---- */

/* A^T A of a projection on [x, 1]. */
static bool find_gram(const struct al_heads *heads, enum al_projection p, struct al_matrix *out,
	struct al_error *err)
{
	const struct al_view w = al_heads_run(heads, p).weights, bias = heads->bias[p];

	if (!al_matrix_init(out, w.cols, w.cols, err) || !al_gram(AL_TRANSPOSED, w, *out, err))
		return false;
	for (size_t j = 0; bias.data && j < out->cols; j++)
		for (size_t i = 0; i < out->rows; i++)
			out->data[i + j * out->ld] += bias.data[i * bias.ld]
				* bias.data[j * bias.ld];
	return true;
}

struct complex_number {
	double re, im;
};

/* a^H b of two complex columns: dimensions `first` and `second` of the heads that begin at columns
 * a and b of the Gram matrix. */
static struct complex_number product(struct al_matrix g, size_t a, size_t b, size_t first,
	size_t second)
{
	const double *x = g.data + (b + first) * g.ld + a, *y = g.data + (b + second) * g.ld + a;

	return (struct complex_number){x[first] + y[second], y[first] - x[second]};
}

static double inner_of_pairs(const struct al_attention *attention, struct al_matrix q,
	struct al_matrix k, const size_t at_q[2], const size_t at_k[2], size_t width)
{
	const size_t n = (size_t)attention->rotary_width / 2;
	const bool is_interleaved = attention->rotary_pairs == AL_PAIRS_INTERLEAVED;
	double sum = 0;

	for (size_t p = 0; p < n; p++) {
		const size_t first = is_interleaved ? 2 * p : p,
			     second = is_interleaved ? 2 * p + 1 : p + n;
		const struct complex_number a = product(q, at_q[0], at_q[1], first, second);
		const struct complex_number b = product(k, at_k[0], at_k[1], first, second);
		sum += (a.re * b.re + a.im * b.im) / 2;
	}
	for (size_t j = 2 * n; j < width; j++)
		for (size_t i = 2 * n; i < width; i++)
			sum += q.data[at_q[0] + i + (at_q[1] + j) * q.ld]
				* k.data[at_k[0] + i + (at_k[1] + j) * k.ld];
	return sum;
}

bool al_rotary_inner(const struct al_heads *heads, const struct al_attention *attention,
	struct al_matrix out, struct al_error *err)
{
	const size_t w = heads->d_head;
	struct al_matrix q = {0}, k = {0};
	bool ok = find_gram(heads, AL_QUERY, &q, err) && find_gram(heads, AL_KEY, &k, err);

	for (size_t j = 0; ok && j < heads->n_heads; j++)
		for (size_t i = 0; i < heads->n_heads; i++) {
			const size_t at_q[] = {i * w, j * w};
			const size_t at_k[] = {al_kv_head(heads, i) * w, al_kv_head(heads, j) * w};
			out.data[i + j * out.ld] = inner_of_pairs(attention, q, k, at_q, at_k, w);
		}
	al_matrix_finish(&k);
	al_matrix_finish(&q);
	return ok;
}
