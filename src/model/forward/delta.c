/* The gated delta rule (Yang et al. 2024, arXiv:2412.06464, eq. 10; rules of detail: transformers,
 * modeling_qwen3_next.py, Qwen3NextGatedDeltaNet), token by token. A head's state S is
 * [d_value][d_head]: with k and q of length 1,
 *
 *     S = alpha S,  S = S + beta (v - S k) k^T,  o = S q / sqrt(d_head)
 *
 * in double. What becomes of o is a norm, and the product with silu(gate). */
#include "base/wide.h"
#include "model/forward/activation.h"
#include "model/forward/internal.h"

/* What is added to a squared length before its root. */
#define LENGTH_EPSILON 1e-6

/* ---- weights ---- */

/* Heads of queries and keys, by how wide these are. */
static bool count_keys(const struct al_layer *layer, const struct al_pass_delta *how,
	struct al_delta *d, struct al_error *err)
{
	const size_t queries = al_mixer_width(layer, how->inputs[0]);
	const size_t keys = al_mixer_width(layer, how->inputs[1]);

	d->n_keys = keys / d->d_head;
	return (queries == keys && d->n_keys > 0 && keys == d->n_keys * d->d_head
		       && d->n_heads % d->n_keys == 0
		       && d->inputs.weight.cols == 2 * keys + d->n_heads * d->d_value)
		|| al_fail(err, AL_EINPUT,
			"queries are %zu wide, keys %zu, both together with values %zu: that are "
			"no "
			"heads of %zu, shared by %zu of values of width %zu",
			queries, keys, d->inputs.weight.cols, d->d_head, d->n_heads, d->d_value);
}

bool al_delta_load(struct al_layer *layer, struct al_error *err)
{
	const struct al_pass_delta *how = &layer->module->variant->pass->delta;
	const size_t d_model = (size_t)layer->network->d_model;
	struct al_delta *d = &layer->delta;

	d->n_heads = al_mixer_width(layer, how->beta);
	d->d_value = al_mixer_width(layer, how->norm);
	d->d_head = (size_t)layer->module->d_head;
	d->inputs.op = AL_TRANSPOSED;
	const size_t width = d->n_heads * d->d_value;
	return al_mixer_read(layer, how->inputs, AL_PASS_INPUTS, d_model, 0, &d->inputs.weight, err)
		&& count_keys(layer, how, d, err)
		&& al_mixer_read(layer, how->taps, AL_PASS_INPUTS,
			al_mixer_rows(layer, how->taps[0]), d->inputs.weight.cols, &d->taps, err)
		&& al_mixer_read_linear(layer, how->beta, d_model, d->n_heads, &d->beta, err)
		&& al_mixer_read_linear(layer, how->alpha, d_model, d->n_heads, &d->alpha, err)
		&& al_mixer_read_linear(layer, how->gate, d_model, width, &d->gate, err)
		&& al_mixer_read(layer, &how->step, 1, 1, d->n_heads, &d->step, err)
		&& al_mixer_read(layer, &how->rate, 1, 1, d->n_heads, &d->rate, err)
		&& al_mixer_read(layer, &how->norm, 1, 1, d->d_value, &d->norm, err)
		&& al_mixer_read_linear(layer, how->output, width, d_model, &layer->output, err);
}

/* ---- a head ---- */

struct heads {
	const struct al_layer *layer;
	const struct al_batch *batch;
	struct al_matrix_f inputs, gate, beta, alpha, o;
};

/* One head of one sequence: its vectors of a token, and its state. */
struct head {
	const struct heads *all;
	size_t number, first_input; /* the sequence's first column, cached ones included */
	float *q, *k, *v; /* [d_head], [d_head], [d_value] */
	double *state, *read; /* [d_value][d_head]; two vectors [d_head] */
};

/* n inputs from `first` on, of the token in column `column` of them and those before. */
static void convolve(const struct head *h, size_t first, size_t n, size_t column, float *out)
{
	const struct al_layer *layer = h->all->layer;

	al_convolve(layer->delta.taps, layer->cache ? layer->cache->k : h->all->inputs,
		(struct al_convolved){h->first_input, column, first, n}, out);
	al_activate(layer->network->activation, NULL, NULL, out, n);
}

/* x of length 1, times `factor`. */
static void set_length(const float *x, size_t n, double factor, double *out)
{
	double sum = LENGTH_EPSILON;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	for (size_t i = 0; i < n; i++)
		out[i] = factor / sqrt(sum) * (double)x[i];
}

AL_WIDEST static double inner(const double *a, const double *b, size_t n)
{
	enum { LANES = 8 };
	double lanes[LANES] = {0}, sum = 0;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			lanes[lane] += a[i + lane] * b[i + lane];
	for (; i < n; i++)
		sum += a[i] * b[i];
	for (i = 0; i < LANES; i++)
		sum += lanes[i];
	return sum;
}

AL_WIDEST static void update(double *row, double kept, double written, const double *k, size_t n)
{
	for (size_t i = 0; i < n; i++)
		row[i] = kept * row[i] + written * k[i];
}

static double at(struct al_matrix_f m, size_t row, size_t column)
{
	return (double)m.data[row + column * m.ld];
}

/* A token's step; o[d_value] is what the head puts out. */
static void step(const struct head *h, size_t column, float *o)
{
	const struct al_delta *d = &h->all->layer->delta;
	const double beta = 1 / (1 + exp(-at(h->all->beta, h->number, column)));
	const double alpha = exp(-exp(at(d->rate, 0, h->number))
		* al_softplus(at(h->all->alpha, h->number, column) + at(d->step, 0, h->number)));
	double *k = h->read, *q = h->read + d->d_head, squares = 0;

	set_length(h->k, d->d_head, 1, k);
	set_length(h->q, d->d_head, 1 / sqrt((double)d->d_head), q);
	for (size_t i = 0; i < d->d_value; i++) {
		double *row = h->state + i * d->d_head;
		const double known = alpha * inner(row, k, d->d_head);
		update(row, alpha, beta * ((double)h->v[i] - known), k, d->d_head);
		o[i] = (float)inner(row, q, d->d_head);
		squares += (double)o[i] * (double)o[i];
	}
	const double factor = 1
		/ sqrt(squares / (double)d->d_value + h->all->layer->network->epsilon);
	for (size_t i = 0; i < d->d_value; i++) {
		const double gate = at(h->all->gate, h->number * d->d_value + i, column);
		o[i] = (float)(factor * (double)o[i] * at(d->norm, 0, i) * gate / (1 + exp(-gate)));
	}
}

static bool run_head(void *context, size_t index, struct al_error *err)
{
	const struct heads *all = context;
	const struct al_delta *d = &all->layer->delta;
	const struct al_cache *cache = all->layer->cache;
	const size_t sequence = index / d->n_heads, number = index % d->n_heads;
	const size_t begin = all->batch->begin[sequence], end = all->batch->begin[sequence + 1];
	const size_t keys = d->n_keys * d->d_head;
	const size_t own = number * d->n_keys / d->n_heads * d->d_head;
	const size_t first = cache ? sequence * cache->length : begin;
	const size_t past = cache ? cache->past : 0, n_state = d->d_head * d->d_value;
	AL_FREED float *memory = al_alloc(2 * d->d_head + d->d_value, sizeof(*memory));
	AL_FREED double *room = al_calloc(n_state + 2 * d->d_head, sizeof(*room));
	struct head h = {all, number, first, memory, memory + d->d_head, memory + 2 * d->d_head,
		cache ? cache->state + index * n_state : room, room + n_state};
	(void)err;

	for (size_t j = begin; j < end; j++) {
		const size_t column = first + past + j - begin;
		convolve(&h, own, d->d_head, column, h.q);
		convolve(&h, keys + own, d->d_head, column, h.k);
		convolve(&h, 2 * keys + number * d->d_value, d->d_value, column, h.v);
		step(&h, j, all->o.data + number * d->d_value + j * all->o.ld);
	}
	return true;
}

/* ---- all ---- */

bool al_delta_apply(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_matrix_f *o, struct al_error *err)
{
	const struct al_pass_place place = {layer->number, batch, 0};
	const struct al_delta *d = &layer->delta;
	struct heads h = {.layer = layer, .batch = batch};
	AL_SCRATCH(scratch);

	if (!al_mixer_project(&scratch, &d->inputs, place, x, &h.inputs, err)
		|| !al_mixer_project(&scratch, &d->gate, place, x, &h.gate, err)
		|| !al_mixer_project(&scratch, &d->beta, place, x, &h.beta, err)
		|| !al_mixer_project(&scratch, &d->alpha, place, x, &h.alpha, err)
		|| !al_matrix_init_f(o, d->n_heads * d->d_value, x.cols, err))
		return false;
	if (layer->cache)
		al_cache_fill(layer->cache, batch, h.inputs, layer->cache->k);
	h.o = *o;
	return al_parallel(batch->n_sequences * d->n_heads, run_head, &h, err);
}
