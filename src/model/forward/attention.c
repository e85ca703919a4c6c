/* Attention: queries, keys and values of all tokens, and what each head makes of its sequence. */

#include <assert.h>

#include "model/forward/activation.h"
#include "model/forward/internal.h"

/* Queries that are scored together: what a head holds at a time is keys x this many. */
enum { QUERIES_AT_ONCE = 128 };

/* ---- softmax over the keys that a query sees ---- */

/* exp over [low, high), the other keys 0; with the sink's, if there is one, the sum is 1. Returns
 * the entropy in nats, that of scores s_i less their largest being log(sum e^s_i) - sum(s_i
 * e^s_i)/sum e^s_i; a sink is one of them. */
static double softmax(float *x, size_t n, size_t low, size_t high, const float *sink,
	bool is_watched)
{
	const float own = al_largest(x + low, high - low), most = sink && *sink > own ? *sink : own;
	double weighed = 0, sum;

	memset(x, 0, low * sizeof(*x));
	sum = al_exp_all(x + low, high - low, most, is_watched ? &weighed : NULL);
	if (sink) {
		const double score = (double)*sink - (double)most;
		sum += exp(score);
		weighed += score * exp(score);
	}
	al_scale(x + low, high - low, (float)(1 / sum));
	memset(x + high, 0, (n - high) * sizeof(*x));
	return is_watched ? log(sum) - weighed / sum : 0;
}

/* ---- one head of one sequence ---- */

struct heads {
	const struct al_layer *layer;
	const struct al_batch *batch;
	struct al_matrix_f q, k, v, o;
	struct al_matrix_f gate; /* without data where there is none */
	struct al_watched *watched; /* NULL: attention weights aren't needed */
};

static size_t n_past(const struct al_layer *layer)
{
	return layer->cache ? layer->cache->past : 0;
}

/* Keys [low, high) that some query of the positions [first, end) sees. */
struct span {
	size_t low, high;
};

static struct span seen(const struct heads *h, size_t first, size_t end, size_t n)
{
	const size_t window = h->layer->window, chunk = h->layer->chunk;
	const bool is_causal = h->layer->network->how->kind == AL_FORWARD_DECODER;

	if (chunk)
		return (struct span){first - first % chunk,
			is_causal ? end : al_least(n, end - 1 - (end - 1) % chunk + chunk)};
	return (struct span){window && first + 1 > window ? first + 1 - window : 0,
		is_causal				 ? end
			: window && end - 1 + window < n ? end - 1 + window
							 : n};
}

/* Queries [first, end) of a sequence: q, k, v, o are that head's columns of it. */
static bool attend(const struct heads *h, size_t index, size_t first, size_t end,
	struct al_view_f q, struct al_view_f k, struct al_view_f v, struct al_matrix_f o,
	float *memory, struct al_error *err)
{
	const struct al_network *network = h->layer->network;
	const float scale = (float)h->layer->shape->score_scale;
	const size_t past = n_past(h->layer);
	const struct span keys = seen(h, past + first, past + end, k.cols);
	const size_t n = keys.high - keys.low;
	const size_t head = index % (size_t)h->layer->shape->n_heads;
	const float *sink = h->layer->sinks.data ? &h->layer->sinks.data[head] : NULL;
	const size_t sequence = index / (size_t)h->layer->shape->n_heads;
	const struct al_pass_place place = {h->layer->number, h->batch,
		h->batch->begin[sequence] + first};
	struct al_matrix_f scores = {memory, n, end - first, n};
	double entropy = 0;

	if (!al_multiply(place, AL_TRANSPOSED, scale, al_columns_f(k, keys.low, n),
		    al_columns_f(q, first, end - first), false, scores, err))
		return false;
	for (size_t j = first; j < end; j++) {
		const struct span own = seen(h, past + j, past + j + 1, k.cols);
		float *column = scores.data + (j - first) * scores.ld;
		al_cap(column, n, network->score_cap);
		al_position_bias_add(&h->layer->bias, head, past + j, keys.low, n, column);
		if (h->watched)
			al_watch_scores(h->watched, index, j, own.low, column + own.low - keys.low,
				own.high - own.low);
		entropy += softmax(column, n, own.low - keys.low, own.high - keys.low, sink,
			h->watched != NULL);
	}
	if (h->watched)
		al_watch_weights(h->watched, index, first, keys.low, al_view_f(scores), entropy);
	return al_multiply(place, AL_PLAIN, 1, al_columns_f(v, keys.low, n), al_view_f(scores),
		false, al_part_f(o, 0, first, o.rows, end - first), err);
}

/* Rows of one head, some columns. */
static struct al_matrix_f cut(struct al_matrix_f m, size_t head, size_t width, size_t first,
	size_t n)
{
	return al_part_f(m, head * width, first, width, n);
}

static bool run_head(void *context, size_t index, struct al_error *err)
{
	const struct heads *h = context;
	const struct al_attention *a = h->layer->shape;
	const struct al_cache *cache = h->layer->cache;
	const size_t n_heads = (size_t)a->n_heads, head = index % n_heads;
	const size_t sequence = index / n_heads, first = h->batch->begin[sequence];
	const size_t n = h->batch->begin[sequence + 1] - first, n_keys = n_past(h->layer) + n;
	const size_t first_key = cache ? sequence * cache->length : first;
	const size_t group = head * (size_t)a->n_kv_heads / n_heads;
	const size_t d_head = (size_t)a->d_head, d_value = (size_t)a->d_value;
	const size_t at_once = al_least(n, QUERIES_AT_ONCE);
	AL_FREED float *memory = al_alloc(n_keys * at_once, sizeof(*memory));

	for (size_t from = 0; from < n; from += at_once)
		if (!attend(h, index, from, al_least(from + at_once, n),
			    al_view_f(cut(h->q, head, d_head, first, n)),
			    al_view_f(
				    cut(cache ? cache->k : h->k, group, d_head, first_key, n_keys)),
			    al_view_f(cut(cache ? cache->v : h->v, group, d_value, first_key,
				    n_keys)),
			    cut(h->o, head, d_value, first, n), memory, err))
			return false;
	return true;
}

static bool run_heads(struct heads *h, struct al_error *err)
{
	return al_parallel(h->batch->n_sequences * (size_t)h->layer->shape->n_heads, run_head, h,
		err);
}

/* ---- norms and positions of queries and keys ---- */

struct turning {
	const struct al_layer *layer;
	const struct al_batch *batch;
	const struct al_norm *norm;
	struct al_matrix_f x;
	size_t width;
	enum al_norm_over over;
};

static void normalize(const struct turning *t, float *x)
{
	const struct al_norm *norm = t->norm;
	const float *scale = norm->scale.data, *bias = norm->bias.data;

	if (t->over == AL_NORM_OVER_ALL) {
		al_norm_numbers(norm, scale, bias, t->x.rows, x, x);
		return;
	}
	for (size_t at = 0; at < t->x.rows; at += t->width) {
		const size_t own = t->over == AL_NORM_OVER_EACH ? at : 0;
		al_norm_numbers(norm, scale + own, bias ? bias + own : NULL, t->width, x + at,
			x + at);
	}
}

/* Cosine and sine of the angle by which a position turns each pair: turns[2 * pairs]. After cached
 * tokens all sequences count as long as there is room. */
static void find_turns(const struct al_layer *layer, size_t position, size_t n_positions,
	float *turns)
{
	const struct al_rotary_rule *rule = &layer->rotary;
	const double *speeds = layer->speeds[al_rotary_is_long(rule,
		layer->cache ? layer->cache->length : n_positions)];

	for (size_t i = 0; i < (size_t)layer->shape->rotary_width / 2; i++) {
		const double angle = (double)position * speeds[i];
		turns[2 * i] = (float)(rule->attention_factor * cos(angle));
		turns[2 * i + 1] = (float)(rule->attention_factor * sin(angle));
	}
}

/* Pairs of the first dimensions of a head's vector. */
static void turn_head(const struct al_attention *a, const float *turns, float *x)
{
	const size_t n_pairs = (size_t)a->rotary_width / 2;
	const bool halves = a->rotary_pairs == AL_PAIRS_HALVES;

	for (size_t i = 0; i < n_pairs; i++) {
		const float cosine = turns[2 * i], sine = turns[2 * i + 1];
		float *p = &x[halves ? i : 2 * i], *q = halves ? p + n_pairs : p + 1;
		const float before = *p;
		*p = before * cosine - *q * sine;
		*q = *q * cosine + before * sine;
	}
}

static void turn_columns(void *context, size_t first, size_t n)
{
	const struct turning *t = context;
	const struct al_attention *a = t->layer->shape;
	const size_t *begin = t->batch->begin;
	const bool is_last = t->layer->network->how->norms_rotated;
	AL_FREED float *turns = al_alloc((size_t)a->rotary_width, sizeof(*turns));
	size_t sequence = 0;

	for (size_t j = first; j < first + n; j++) {
		float *x = t->x.data + j * t->x.ld;
		const size_t place = al_batch_place(t->batch, j, &sequence);
		if (al_norm_is_there(t->norm) && !is_last)
			normalize(t, x);
		if (a->is_rotary)
			find_turns(t->layer, n_past(t->layer) + place,
				begin[sequence + 1] - begin[sequence], turns);
		for (size_t at = 0; a->is_rotary && at < t->x.rows; at += t->width)
			turn_head(a, turns, x + at);
		if (al_norm_is_there(t->norm) && is_last)
			normalize(t, x);
	}
}

static void turn(const struct heads *h, const struct al_norm *norm, struct al_matrix_f x)
{
	const struct al_layer *layer = h->layer;
	struct turning turning = {layer, h->batch, norm, x, (size_t)layer->shape->d_head,
		layer->network->how->qk_norm};

	if (al_norm_is_there(norm) || layer->shape->is_rotary)
		al_each_columns(x.cols, turn_columns, &turning);
}

static void copy_columns(struct al_matrix_f from, size_t first, struct al_matrix_f to, size_t at,
	size_t n)
{
	for (size_t j = 0; j < n; j++)
		memcpy(to.data + (at + j) * to.ld, from.data + (first + j) * from.ld,
			from.rows * sizeof(float));
}

void al_cache_fill(const struct al_cache *cache, const struct al_batch *batch, struct al_matrix_f x,
	struct al_matrix_f to)
{
	for (size_t i = 0; i < batch->n_sequences; i++) {
		const size_t first = batch->begin[i], n = batch->begin[i + 1] - first;
		copy_columns(x, first, to, i * cache->length + cache->past, n);
	}
}

static void grow(void *context, size_t first, size_t n)
{
	const struct heads *h = context;
	size_t sequence = 0;

	for (size_t j = first; j < first + n; j++) {
		const size_t place = al_batch_place(h->batch, j, &sequence);
		const double position = (double)(n_past(h->layer) + place);
		al_scale(h->q.data + j * h->q.ld, h->q.rows,
			(float)(1
				+ h->layer->growth
					* log1p(floor((position + 1) / h->layer->floor))));
	}
}

static void place_tokens(struct heads *h)
{
	const struct al_cache *cache = h->layer->cache;

	turn(h, &h->layer->query_norm, h->q);
	turn(h, &h->layer->key_norm, h->k);
	if (h->layer->growth != 0)
		al_each_columns(h->q.cols, grow, h);
	if (cache) {
		al_cache_fill(cache, h->batch, h->k, cache->k);
		al_cache_fill(cache, h->batch, h->v, cache->v);
	}
}

/* Each gate multiplies a number of the outputs, or a head's. */
static void open_gates(void *context, size_t first, size_t n)
{
	const struct heads *h = context;
	const size_t width = h->o.rows / h->gate.rows;

	for (size_t j = first; j < first + n; j++)
		for (size_t i = 0; i < h->o.rows; i++) {
			const double gate = (double)h->gate.data[i / width + j * h->gate.ld];
			h->o.data[i + j * h->o.ld] *= (float)(1 / (1 + exp(-gate)));
		}
}

/* ---- all ---- */

/* y = linear(x), or x itself where there is no weight. */
static bool project(struct al_scratch *scratch, const struct al_linear *linear,
	struct al_pass_place place, struct al_view_f x, struct al_matrix_f *y, struct al_error *err)
{
	if (!al_linear_is_there(linear))
		return al_read_input(scratch, &(struct al_norm){0}, x, y, err);
	return al_take_f(scratch, y, al_linear_rows(linear), x.cols, err)
		&& al_linear_apply(linear, place, x, *y, err);
}

static bool project_all(struct heads *h, struct al_scratch *scratch, struct al_pass_place place,
	struct al_view_f x, struct al_error *err)
{
	const struct al_layer *layer = h->layer;

	if (al_linear_is_there(&layer->gate)
		&& !project(scratch, &layer->gate, place, x, &h->gate, err))
		return false;
	if (al_linear_is_there(&layer->latent.up))
		return al_latent_apply(layer, place, scratch, x, &h->q, &h->k, &h->v, err);
	return project(scratch, &layer->query, place, x, &h->q, err)
		&& project(scratch, &layer->key, place, x, &h->k, err)
		&& project(scratch, &layer->value, place, x, &h->v, err);
}

/* The heads' outputs, and what the trace wants of the attention weights. */
static bool run_traced(struct heads *h, struct al_trace *trace, struct al_error *err)
{
	struct al_watched watched;

	if (!trace)
		return run_heads(h, err);
	al_watched_init(&watched, h->layer, h->batch, trace->taker);
	h->watched = &watched;
	bool ok = run_heads(h, err) && al_watched_add_up(&watched, trace, err);
	al_watched_finish(&watched);
	return ok;
}

static bool attend_all(struct heads *h, struct al_trace *trace, size_t n_tokens,
	struct al_error *err)
{
	const struct al_attention *a = h->layer->shape;

	place_tokens(h);
	if (al_matrix_init_f(&h->o, (size_t)(a->n_heads * a->d_value), n_tokens, err)
		&& run_traced(h, trace, err)) {
		if (h->gate.data)
			al_each_columns(n_tokens, open_gates, h);
		return true;
	}
	al_matrix_finish_f(&h->o);
	al_trace_finish(trace);
	return false;
}

bool al_layer_heads(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_trace *trace, struct al_matrix_f *o, struct al_error *err)
{
	const struct al_pass_place place = {layer->number, batch, 0};
	struct heads h = {.layer = layer, .batch = batch};
	AL_SCRATCH(scratch);
	AL_OWNED_F struct al_matrix_f input = {0};

	assert(!trace || layer->attention);
	*o = (struct al_matrix_f){0};
	if (trace)
		*trace = (struct al_trace){.batch = batch, .taker = trace->taker};
	if (!al_read_input(NULL, &layer->attention_before, x, &input, err))
		return false;
	if (!layer->attention)
		return al_mixer_apply(layer, batch, al_view_f(input), o, err);
	if (!project_all(&h, &scratch, place, al_view_f(input), err))
		return false;
	if (trace) {
		trace->input = input;
		input = (struct al_matrix_f){0};
	}
	al_matrix_finish_f(&input); /* the heads need the room */
	if (!attend_all(&h, trace, x.cols, err))
		return false;
	*o = h.o;
	return true;
}
