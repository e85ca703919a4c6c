/* Attention probabilities of two modules, and what their heads put out. */
#include "compress/difference.h"

/* ---- a module ---- */

bool al_side_load(struct al_side_scores *side, const struct al_factor_source *source,
	const struct al_attention *a, int end, double scale, struct al_error *err)
{
	void *context = source->context;

	*side = (struct al_side_scores){.n_heads = (size_t)a->n_heads, .scale = scale};
	for (int i = 0; i < end; i++) {
		const enum al_projection p = (enum al_projection)i;
		if (!source->load(context, a, p, false, &side->weights[p], err)
			|| (p != AL_OUTPUT
				&& !source->load(context, a, p, true, &side->biases[p], err)))
			return false;
	}
	return true;
}

void al_side_finish(struct al_side_scores *side)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		al_matrix_finish(&side->weights[p]);
		al_matrix_finish(&side->biases[p]);
	}
	al_scratch_finish(&side->input);
}

/* X W + b */
static bool project(struct al_side_scores *side, enum al_projection p, struct al_view x,
	struct al_error *err)
{
	const struct al_matrix w = side->weights[p], bias = side->biases[p];
	struct al_matrix *out = &side->seen[p];

	*out = (struct al_matrix){0};
	if (!w.data)
		return true;
	if (!al_take(&side->input, out, x.rows, w.cols, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, x, al_view(w), 0, *out, err))
		return false;
	for (size_t j = 0; bias.data && j < out->cols; j++)
		for (size_t i = 0; i < out->rows; i++)
			out->data[i + j * out->ld] += bias.data[j * bias.ld];
	return true;
}

bool al_side_take_input(struct al_side_scores *side, struct al_view x, struct al_view y,
	struct al_error *err)
{
	al_scratch_finish(&side->input);
	return project(side, AL_QUERY, x, err) && project(side, AL_KEY, y, err)
		&& project(side, AL_VALUE, y, err);
}

/* The columns of a query head, or of the keys or values that it uses. */
static struct al_view head_of(const struct al_side_scores *side, enum al_projection p, size_t head,
	size_t width)
{
	const struct al_view all = al_view(side->seen[p]);

	return al_columns(all, head * (all.cols / width) / side->n_heads * width, width);
}

/* out [n_tokens][n_tokens], a row for each query. */
static bool find_logits(const struct al_side_scores *side, size_t head, struct al_matrix out,
	struct al_error *err)
{
	const size_t width = side->seen[AL_QUERY].cols / side->n_heads;

	return al_gemm(AL_PLAIN, AL_TRANSPOSED, side->scale, head_of(side, AL_QUERY, head, width),
		head_of(side, AL_KEY, head, width), 0, out, err);
}

/* ---- one head ---- */

bool al_difference_init(struct al_attention_difference *d, const struct al_side_scores *original,
	struct al_error *err)
{
	const size_t n = original->seen[AL_QUERY].rows, d_out = original->weights[AL_OUTPUT].rows;

	*d = (struct al_attention_difference){0};
	return !original->seen[AL_VALUE].data
		|| (al_matrix_init(&d->output, n, d_out, err)
			&& al_matrix_init(&d->error, n, d_out, err));
}

void al_difference_finish(struct al_attention_difference *d)
{
	al_matrix_finish(&d->output);
	al_matrix_finish(&d->error);
}

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

/* to += weights V_head O_head^T */
static bool put_out(const struct al_side_scores *side, size_t head, struct al_view weights,
	struct al_matrix to, struct al_error *err)
{
	const size_t width = side->weights[AL_OUTPUT].cols / side->n_heads;
	AL_OWNED struct al_matrix inner = {0};

	if (!to.data)
		return true;
	return al_product(AL_PLAIN, weights, AL_PLAIN, head_of(side, AL_VALUE, head, width), &inner,
		       err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(inner),
			al_columns(al_view(side->weights[AL_OUTPUT]), head * width, width), 1, to,
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
	if (!compressed->seen[AL_VALUE].data)
		return put_out(original, head, al_view(b), d->error, err);
	for (size_t j = 0; j < b.cols; j++)
		for (size_t i = 0; i < b.rows; i++)
			b.data[i + j * b.ld] -= a.data[i + j * a.ld];
	return put_out(original, head, al_view(a), d->error, err)
		&& put_out(compressed, head, al_view(b), d->error, err);
}

bool al_difference_add(struct al_attention_difference *d, const struct al_side_scores *original,
	const struct al_side_scores *compressed, size_t head, bool is_gone, struct al_error *err)
{
	const size_t n = original->seen[AL_QUERY].rows, m = original->seen[AL_KEY].rows;
	AL_OWNED struct al_matrix a = {0}, b = {0};

	if (!al_matrix_init(&a, n, m, err) || !al_matrix_init(&b, n, m, err)
		|| !find_logits(original, head, a, err)
		|| (!is_gone && !find_logits(compressed, head, b, err)))
		return false;
	for (size_t i = 0; is_gone && i < n; i++)
		softmax(a, i);
	if (!is_gone)
		compare(d, a, b);
	return put_out(original, head, al_view(a), d->output, err)
		&& (is_gone ? put_out(original, head, al_view(a), d->error, err)
			    : add_error(d, original, compressed, head, a, b, err));
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
