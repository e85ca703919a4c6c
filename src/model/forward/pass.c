/* Passes of a model over all sequences. */
#include "model/forward/pass.h"

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

static bool pass_layer(struct al_network *network, const struct al_visitor *v, int64_t number,
	const struct al_batch *batch, struct al_matrix_f x, struct al_error *err)
{
	struct al_layer *layer = al_layer_load(network, number, err);
	struct al_trace trace = {.taker = v->weights};
	AL_OWNED_F struct al_matrix_f o = {0};
	bool ok = layer
		&& al_layer_heads(layer, batch, al_view_f(x),
			v->trace || v->weights ? &trace : NULL, &o, err)
		&& (!v->trace || v->trace(v->context, layer, &trace, al_view_f(o), err))
		&& complete(v, layer, batch, al_view_f(o), x, err);

	al_trace_finish(&trace);
	al_layer_free(layer);
	return ok;
}

static bool pass_batch(struct al_network *network, const struct al_visitor *v,
	const struct al_batch *batch, struct al_error *err)
{
	AL_OWNED_F struct al_matrix_f x = {0}, hidden = {0};

	if (!al_network_embed(network, batch, 0, &x, err))
		return false;
	for (int64_t number = 0; number < network->n_layers; number++)
		if (!pass_layer(network, v, number, batch, x, err))
			return false;
	return !v->hidden
		|| (al_network_finish(network, batch, al_view_f(x), &hidden, err)
			&& v->hidden(v->context, batch, al_view_f(hidden), err));
}

bool al_network_pass(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, const struct al_visitor *visitor, struct al_error *err)
{
	bool ok = al_network_check_tokens(network, all, err);

	for (size_t first = 0; ok && first < all->n_sequences;) {
		struct al_batch_part part;
		al_batch_part_init(&part, all, first);
		ok = al_watch_show(watch, "sequences", first, all->n_sequences, err)
			&& pass_batch(network, visitor, &part.batch, err);
		first += part.batch.n_sequences;
		al_batch_part_finish(&part);
	}
	return ok;
}
