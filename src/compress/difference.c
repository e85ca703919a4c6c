/* Attention probabilities of two modules, and what their heads put out. */
#include "compress/difference.h"

#include <math.h>
#include <string.h>

bool al_difference_init(struct al_attention_difference *d, const struct al_side_scores *original,
	size_t n, struct al_error *err)
{
	const size_t d_out = original->of[AL_PIECE_OUTPUT].rows;

	*d = (struct al_attention_difference){.n_queries = 0};
	return !original->values.data
		|| (al_matrix_init(&d->output, n, d_out, err)
			&& al_matrix_init(&d->error, n, d_out, err));
}

void al_difference_finish(struct al_attention_difference *d)
{
	al_matrix_finish(&d->output);
	al_matrix_finish(&d->error);
}

/* ---- one head ---- */

/* Row i of the logits becomes its softmax. */
static void softmax(struct al_matrix m, size_t i)
{
	double largest = -INFINITY, sum = 0;

	for (size_t j = 0; j < m.cols; j++)
		largest = fmax(largest, m.data[i + j * m.ld]);
	for (size_t j = 0; j < m.cols; j++)
		sum += m.data[i + j * m.ld] = exp(m.data[i + j * m.ld] - largest);
	for (size_t j = 0; j < m.cols; j++)
		m.data[i + j * m.ld] /= sum;
}

/* What is common to a row goes. */
static void compare_logits(struct al_attention_difference *d, struct al_matrix a,
	struct al_matrix b, size_t i)
{
	double mean = 0;

	for (size_t j = 0; j < a.cols; j++)
		mean += (a.data[i + j * a.ld] - b.data[i + j * b.ld]) / (double)a.cols;
	for (size_t j = 0; j < a.cols; j++)
		d->logit_max = fmax(d->logit_max,
			fabs(a.data[i + j * a.ld] - b.data[i + j * b.ld] - mean));
}

/* b becomes a - b. */
static void compare_probabilities(struct al_attention_difference *d, struct al_matrix a,
	struct al_matrix b, size_t i)
{
	for (size_t j = 0; j < a.cols; j++) {
		const double p = a.data[i + j * a.ld] - b.data[i + j * b.ld];
		b.data[i + j * b.ld] = p;
		d->probability_max = fmax(d->probability_max, fabs(p));
		d->variation += fabs(p) / 2;
	}
}

/* to += weights V_head O_head^T, with the values and outputs of `side`, which are in the original's
 * shape. */
static bool put_out(const struct al_side_scores *original, const struct al_side_scores *side,
	size_t head, struct al_view weights, struct al_matrix to, struct al_error *err)
{
	const size_t width = original->values.cols / original->n_kv_heads;
	const size_t kv_head = head * original->n_kv_heads / original->n_heads;
	AL_OWNED struct al_matrix inner = {0};

	if (!to.data)
		return true;
	return al_matrix_init(&inner, weights.rows, width, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, weights,
			al_columns(al_view(side->values), kv_head * width, width), 0, inner, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(inner),
			al_columns(al_view(side->of[AL_PIECE_OUTPUT]), head * width, width), 1, to,
			err);
}

static void compare(struct al_attention_difference *d, struct al_matrix a, struct al_matrix b)
{
	for (size_t i = 0; i < a.rows; i++) {
		compare_logits(d, a, b, i);
		softmax(a, i);
		softmax(b, i);
		compare_probabilities(d, a, b, i);
	}
	d->n_queries += a.rows;
}

/* Of weights a and a - b, the original's and how they differ: b is destroyed. */
static bool add_error(struct al_attention_difference *d, const struct al_side_scores *original,
	const struct al_side_scores *compressed, size_t head, struct al_matrix a,
	struct al_matrix b, struct al_error *err)
{
	if (!compressed->has_outputs)
		return put_out(original, original, head, al_view(b), d->error, err);
	for (size_t j = 0; j < b.cols; j++)
		for (size_t i = 0; i < b.rows; i++)
			b.data[i + j * b.ld] -= a.data[i + j * a.ld];
	return put_out(original, original, head, al_view(a), d->error, err)
		&& put_out(original, compressed, head, al_view(b), d->error, err);
}

bool al_difference_add(struct al_attention_difference *d, const struct al_side_scores *original,
	size_t head, const struct al_side_scores *compressed, size_t counterpart,
	struct al_error *err)
{
	const size_t n = original->queries.rows, m = original->keys.rows;
	AL_OWNED struct al_matrix a = {0}, b = {0};

	bool ok = al_matrix_init(&a, n, m, err) && al_matrix_init(&b, n, m, err)
		&& al_side_logits(original, head, a, err)
		&& al_side_logits(compressed, counterpart, b, err);
	if (ok)
		compare(d, a, b);
	return ok && put_out(original, original, head, al_view(a), d->output, err)
		&& add_error(d, original, compressed, head, a, b, err);
}

bool al_difference_add_dropped(struct al_attention_difference *d,
	const struct al_side_scores *original, size_t head, struct al_error *err)
{
	AL_OWNED struct al_matrix a = {0};

	bool ok = al_matrix_init(&a, original->queries.rows, original->keys.rows, err)
		&& al_side_logits(original, head, a, err);
	for (size_t i = 0; ok && i < a.rows; i++)
		softmax(a, i);
	return ok && put_out(original, original, head, al_view(a), d->output, err)
		&& put_out(original, original, head, al_view(a), d->error, err);
}

/* ---- all heads ---- */

static void clear(struct al_matrix m)
{
	for (size_t j = 0; j < m.cols; j++)
		memset(m.data + j * m.ld, 0, m.rows * sizeof(*m.data));
}

void al_difference_settle(struct al_attention_difference *d)
{
	if (!d->output.data)
		return;
	d->output_square += al_inner(al_view(d->output), al_view(d->output));
	d->error_square += al_inner(al_view(d->error), al_view(d->error));
	clear(d->output);
	clear(d->error);
}

double al_difference_output_error(const struct al_attention_difference *d)
{
	return d->output_square > 0 ? sqrt(d->error_square / d->output_square) : NAN;
}
