/* What a head does to the residual stream: by how much the direction of what is behind attention
 * changes where that head puts out nothing. Norms let nothing but the direction through. */

#include "model/forward/internal.h"

enum { MOST_TOKENS = 64 };

size_t al_turned_tokens(size_t n_tokens)
{
	return n_tokens < MOST_TOKENS ? n_tokens : MOST_TOKENS;
}

/* Some tokens of each sequence, evenly apart, the last one among them: a column for each. */
static bool sample(struct al_scratch *scratch, const struct al_batch *batch, struct al_view_f all,
	struct al_matrix_f *out, struct al_error *err)
{
	size_t n = 0;

	if (!al_take_f(scratch, out, all.rows, all.cols, err))
		return false;
	for (size_t s = 0; s < batch->n_sequences; s++) {
		const size_t length = batch->begin[s + 1] - batch->begin[s];
		const size_t some = al_turned_tokens(length);
		for (size_t i = 1; i <= some; i++)
			memcpy(out->data + n++ * out->ld,
				all.data + (batch->begin[s] + i * length / some - 1) * all.ld,
				all.rows * sizeof(*all.data));
	}
	*out = al_part_f(*out, 0, 0, all.rows, n);
	return true;
}

/* What attention puts out at the sampled tokens. */
struct output {
	const struct al_layer *layer;
	const struct al_batch *batch;
	struct al_matrix_f x, o; /* what goes into the layer; its heads' outputs */
	struct al_matrix_f y, stream; /* what is put out; x with it */
	struct al_matrix_f less, turned; /* the same without a head */
};

/* less = y without what the head adds to it: a block of W_O makes it, unless variants mix heads
 * first. */
static bool take_away(struct output *p, size_t head, struct al_error *err)
{
	const size_t width = (size_t)p->layer->shape->d_value, first = head * width;
	const struct al_matrix_f w = p->layer->output.weight;
	const bool is_plain = p->layer->output.op == AL_PLAIN;
	const struct al_linear block = {.op = p->layer->output.op,
		.weight = is_plain ? al_part_f(w, 0, first, w.rows, width)
				   : al_part_f(w, first, 0, width, w.cols)};
	const struct al_matrix_f own = al_part_f(p->o, first, 0, width, p->o.cols);

	if (!al_linear_apply(&block, (struct al_pass_place){p->layer->number, p->batch, 0},
		    al_view_f(own), p->less, err))
		return false;
	for (size_t j = 0; j < p->y.cols; j++)
		for (size_t i = 0; i < p->y.rows; i++)
			p->less.data[i + j * p->less.ld] = p->y.data[i + j * p->y.ld]
				- p->less.data[i + j * p->less.ld];
	return true;
}

static void copy(struct al_matrix_f from, struct al_matrix_f to)
{
	for (size_t j = 0; j < from.cols; j++)
		memcpy(to.data + j * to.ld, from.data + j * from.ld,
			from.rows * sizeof(*from.data));
}

static double length_of(const float *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return sqrt(sum);
}

/* 1 - cos of the angle, of which nothing cancels; 0 where one of both is 0. */
static double turn(const float *a, const float *b, size_t n)
{
	const double of_a = length_of(a, n), of_b = length_of(b, n);
	double sum = 0;

	if (!(of_a > 0 && of_b > 0))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const double difference = (double)a[i] / of_a - (double)b[i] / of_b;
		sum += difference * difference;
	}
	return sum / 2;
}

static void add_up(const struct output *p, size_t head, size_t n_heads, double *turns)
{
	size_t j = 0;

	for (size_t s = 0; s < p->batch->n_sequences; s++) {
		const size_t end = j
			+ al_turned_tokens(p->batch->begin[s + 1] - p->batch->begin[s]);
		for (; j < end; j++)
			turns[s * n_heads + head] += turn(p->stream.data + j * p->stream.ld,
				p->turned.data + j * p->turned.ld, p->stream.rows);
	}
}

static bool begin(struct output *p, struct al_scratch *scratch, struct al_view_f x,
	struct al_view_f o, struct al_error *err)
{
	if (!sample(scratch, p->batch, x, &p->x, err) || !sample(scratch, p->batch, o, &p->o, err))
		return false;
	const size_t rows = p->x.rows, cols = p->x.cols;
	if (!al_take_f(scratch, &p->y, rows, cols, err)
		|| !al_take_f(scratch, &p->less, rows, cols, err)
		|| !al_take_f(scratch, &p->stream, rows, cols, err)
		|| !al_take_f(scratch, &p->turned, rows, cols, err)
		|| !al_layer_project(p->layer, p->batch, al_view_f(p->o), p->y, err))
		return false;
	copy(p->y, p->less);
	copy(p->x, p->stream);
	al_layer_add_attention(p->layer, p->less, p->stream);
	return true;
}

bool al_layer_turns(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_view_f o, double *turns, struct al_error *err)
{
	const size_t n_heads = (size_t)layer->shape->n_heads;
	struct output p = {.layer = layer, .batch = batch};
	AL_SCRATCH(scratch);

	if (layer->across.how)
		return true;
	if (!begin(&p, &scratch, x, o, err))
		return false;
	for (size_t head = 0; head < n_heads; head++) {
		if (!take_away(&p, head, err))
			return false;
		copy(p.x, p.turned);
		al_layer_add_attention(layer, p.less, p.turned);
		add_up(&p, head, n_heads, turns);
	}
	return true;
}
