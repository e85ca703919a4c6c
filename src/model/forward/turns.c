/* How far each head turns the residual stream: the angle between what is behind attention and what
 * would be there if the head put out nothing. What reads the stream norms it, so that its length
 * doesn't count. */
#include "model/forward/activation.h"
#include "model/forward/internal.h"

struct turning {
	const struct al_layer *layer;
	const struct al_batch *batch;
	struct al_view_f all; /* heads' outputs, of all tokens */
	struct al_scratch scratch;
	struct al_matrix_f o, y, stream; /* of some tokens: heads' outputs, what attention adds to
					    the stream, and the stream behind it, before any norm */
	struct al_matrix_f less; /* o without a head */
	struct al_matrix_f part; /* what the head adds to y */
};

/* Of each sequence some tokens, a column each. */
static bool sample(struct turning *t, struct al_view_f all, struct al_matrix_f *out,
	struct al_error *err)
{
	const size_t *begin = t->batch->begin;
	size_t n = 0;

	for (size_t s = 0; s < t->batch->n_sequences; s++)
		n += al_turned_tokens(begin[s + 1] - begin[s]);
	if (!al_take_f(&t->scratch, out, all.rows, n, err))
		return false;
	float *to = out->data;
	for (size_t s = 0; s < t->batch->n_sequences; s++) {
		const size_t length = begin[s + 1] - begin[s], some = al_turned_tokens(length);
		for (size_t i = 1; i <= some; i++, to += out->ld)
			memcpy(to, all.data + (begin[s] + i * length / some - 1) * all.ld,
				all.rows * sizeof(*to));
	}
	return true;
}

/* to = a to + b from */
static void add(struct al_matrix_f to, float a, float b, struct al_matrix_f from)
{
	for (size_t j = 0; j < to.cols; j++)
		for (size_t i = 0; i < to.rows; i++)
			to.data[i + j * to.ld] = a * to.data[i + j * to.ld]
				+ b * from.data[i + j * from.ld];
}

static bool begin(struct turning *t, struct al_view_f x, struct al_view_f o, struct al_view_f y,
	struct al_error *err)
{
	if (!sample(t, x, &t->stream, err) || !sample(t, o, &t->o, err) || !sample(t, y, &t->y, err)
		|| !al_take_f(&t->scratch, &t->less, o.rows, t->o.cols, err)
		|| !al_take_f(&t->scratch, &t->part, y.rows, t->y.cols, err))
		return false;
	if (al_norm_is_there(&t->layer->attention_behind))
		al_norm_apply(&t->layer->attention_behind, t->y);
	add(t->stream, 1, (float)t->layer->network->residual_scale, t->y);
	return true;
}

/* Its block of W_O. */
static bool project_head(const struct turning *t, struct al_matrix_f own, size_t first,
	struct al_error *err)
{
	const struct al_linear *output = &t->layer->output;
	const struct al_matrix_f w = output->weight;
	const struct al_matrix_f block = output->op == AL_PLAIN
		? al_part_f(w, 0, first, w.rows, own.rows)
		: al_part_f(w, first, 0, own.rows, w.cols);

	return al_gemm_f(output->op, AL_PLAIN, 1, al_view_f(block), al_view_f(own), 0, t->part,
		err);
}

/* Norms behind attention, and variants that mix heads before W_O, need all other heads. */
static bool take_away(const struct turning *t, size_t first, size_t width, struct al_error *err)
{
	add(t->less, 0, 1, t->o);
	for (size_t j = 0; j < t->less.cols; j++)
		memset(t->less.data + first + j * t->less.ld, 0, width * sizeof(*t->less.data));
	if (!al_layer_project(t->layer, t->batch, al_view_f(t->less), t->part, err))
		return false;
	if (al_norm_is_there(&t->layer->attention_behind))
		al_norm_apply(&t->layer->attention_behind, t->part);
	add(t->part, -1, 1, t->y);
	return true;
}

/* Of h and h - scale d, in degrees; 0 where one of both is 0. As |h x (h - d)| = |h x d|, nothing
 * cancels where d is short. */
static double angle(const float *h, const float *d, size_t n, double scale)
{
	const double hh = al_inner_f(h, h, n), hd = scale * al_inner_f(h, d, n),
		     dd = scale * scale * al_inner_f(d, d, n);

	return atan2(sqrt(fmax(0, hh * dd - hd * hd)), hh - hd) * 180 / acos(-1);
}

static void add_up(const struct turning *t, size_t head, size_t n_heads, double *turns)
{
	const double scale = t->layer->network->residual_scale;
	size_t j = 0;

	for (size_t s = 0; s < t->batch->n_sequences; s++) {
		const size_t end = j
			+ al_turned_tokens(t->batch->begin[s + 1] - t->batch->begin[s]);
		for (; j < end; j++)
			turns[s * n_heads + head] += angle(t->stream.data + j * t->stream.ld,
				t->part.data + j * t->part.ld, t->part.rows, scale);
	}
}

static bool turn_all(struct turning *t, double *turns, struct al_error *err)
{
	const bool is_linear = !t->layer->across.how
		&& !al_norm_is_there(&t->layer->attention_behind);
	const size_t n_heads = (size_t)t->layer->shape->n_heads, width = t->o.rows / n_heads;

	for (size_t head = 0; head < n_heads; head++) {
		const size_t first = head * width;
		const struct al_matrix_f own = al_part_f(t->o, first, 0, width, t->o.cols);
		if (!(is_linear ? project_head(t, own, first, err)
				: take_away(t, first, width, err)))
			return false;
		if (!al_is_finite_f(al_view_f(t->part)))
			return al_fail_largest(t->layer, t->batch, t->all, err);
		add_up(t, head, n_heads, turns);
	}
	return true;
}

bool al_layer_turns(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_view_f o, struct al_view_f y, double *turns, struct al_error *err)
{
	struct turning t = {.layer = layer, .batch = batch, .all = o};
	const bool ok = begin(&t, x, o, y, err) && turn_all(&t, turns, err);

	al_scratch_finish(&t.scratch);
	return ok;
}
