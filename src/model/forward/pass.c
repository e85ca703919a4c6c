/* Passes of a model over all sequences, layer by layer, so that each layer is read once and what is
 * kept of it can go before the next. */
#include "model/forward/stream.h"

#include <time.h>

/* ---- batches of whole sequences ---- */

void al_batch_part_init(struct al_batch_part *part, const struct al_batch *all, size_t first)
{
	size_t n = 1;

	while (first + n < all->n_sequences
		&& all->begin[first + n + 1] - all->begin[first] <= AL_BATCH_TOKENS)
		n++;
	part->begin = al_alloc(n + 1, sizeof(*part->begin));
	for (size_t i = 0; i <= n; i++)
		part->begin[i] = all->begin[first + i] - all->begin[first];
	part->batch = (struct al_batch){all->tokens + all->begin[first], part->begin, n,
		all->first_sequence + first};
}

void al_batch_part_finish(struct al_batch_part *part)
{
	free(part->begin);
	*part = (struct al_batch_part){0};
}

int32_t *al_batch_targets(const struct al_batch *batch)
{
	const size_t n = al_batch_tokens(batch);
	int32_t *targets = al_alloc(n, sizeof(*targets));

	for (size_t i = 0; i + 1 < n; i++)
		targets[i] = batch->tokens[i + 1];
	for (size_t i = 0; i < batch->n_sequences; i++)
		targets[batch->begin[i + 1] - 1] = -1;
	return targets;
}

/* ---- passes ---- */

static bool project(const struct al_visitor *v, const struct al_layer *layer,
	const struct al_batch *batch, struct al_view_f o, struct al_matrix_f y,
	struct al_error *err)
{
	return v->project ? v->project(v->context, layer, batch, o, y, err)
			  : al_layer_project(layer, batch, o, y, err);
}

/* From x, what goes into the layer, and o, what its heads put out. */
static bool complete(const struct al_visitor *v, const struct al_layer *layer,
	const struct al_batch *batch, struct al_view_f o, struct al_matrix_f x,
	struct al_error *err)
{
	AL_OWNED_F struct al_matrix_f y = {0};

	return (!v->heads || v->heads(v->context, layer, batch, al_view_f(x), o, err))
		&& al_matrix_init_f(&y, x.rows, x.cols, err) && project(v, layer, batch, o, y, err)
		&& (!v->behind
			|| v->behind(v->context, layer, batch, al_view_f(x), o, al_view_f(y), err))
		&& al_layer_add(layer, batch, y, x, err);
}

static bool pass_part(const struct al_visitor *v, const struct al_layer *layer,
	const struct al_batch *batch, struct al_matrix_f x, struct al_error *err)
{
	struct al_trace trace = {.taker = v->weights};
	AL_OWNED_F struct al_matrix_f o = {0};

	if (!al_layer_attention(layer))
		return al_layer_run(layer, batch, x, err);
	const bool ok = al_layer_heads(layer, batch, al_view_f(x),
				v->trace || v->weights ? &trace : NULL, &o, err)
		&& (!v->trace || v->trace(v->context, layer, &trace, al_view_f(o), err))
		&& complete(v, layer, batch, al_view_f(o), x, err);

	al_trace_finish(&trace);
	return ok;
}

static bool pass_layer(struct al_stream *s, const struct al_visitor *v, int64_t number,
	const struct al_watch *watch, struct al_error *err)
{
	struct al_layer *layer = al_layer_load(s->network, number, err);
	const size_t n_steps = (size_t)s->network->n_layers * s->n;
	bool ok = layer;

	for (size_t i = 0; ok && i < s->n; i++)
		ok = al_watch_show(watch, "layers", (size_t)number * s->n + i, n_steps, err)
			&& al_stream_take(s, i, err)
			&& pass_part(v, layer, &s->parts[i].batch, s->kept[i], err)
			&& al_stream_put_back(s, i, err);
	s->is_embedded = true;
	ok = ok && (!v->done || !al_layer_attention(layer) || v->done(v->context, layer, err));
	al_layer_free(layer);
	return ok;
}

static bool show_hidden(struct al_stream *s, const struct al_visitor *v, size_t part,
	struct al_error *err)
{
	const struct al_batch *batch = &s->parts[part].batch;
	AL_OWNED_F struct al_matrix_f hidden = {0};

	if (!al_stream_take(s, part, err)
		|| !al_network_finish(s->network, batch, al_view_f(s->kept[part]), &hidden, err))
		return false;
	al_matrix_finish_f(&s->kept[part]);
	return v->hidden(v->context, batch, al_view_f(hidden), err);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Behind a layer that isn't the last; it takes at most a twentieth of the time. */
static bool keep(struct al_stream *s, struct al_pass_state *state, int64_t n_passed, double *due,
	struct al_error *err)
{
	const double begin = now();

	if (!state || begin < *due)
		return true;
	state->n_passed = n_passed;
	if (!state->before(state->context, err) || !al_stream_keep(s, state, err))
		return false;
	const double end = now();
	*due = end + state->seconds * fmax(1, 4 * (end - begin));
	return true;
}

static bool pass_layers(struct al_stream *s, const struct al_visitor *visitor,
	const struct al_watch *watch, struct al_error *err)
{
	struct al_pass_state *state = visitor->state;
	double due = now() + (state ? state->seconds : 0);
	int64_t number = state ? state->n_passed : 0;

	if (number > 0 && !al_stream_restore(s, state, err))
		return false;
	for (; number < s->network->n_layers; number++)
		if (!pass_layer(s, visitor, number, watch, err)
			|| (number + 1 < s->network->n_layers
				&& !keep(s, state, number + 1, &due, err)))
			return false;
	return true;
}

bool al_network_pass(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, const struct al_visitor *visitor, struct al_error *err)
{
	struct al_stream s;

	if (!al_network_check_tokens(network, all, err))
		return false;
	bool ok = al_stream_init(&s, network, all, err) && pass_layers(&s, visitor, watch, err);
	for (size_t i = 0; ok && visitor->hidden && i < s.n; i++)
		ok = show_hidden(&s, visitor, i, err);
	al_stream_finish(&s);
	return ok;
}
