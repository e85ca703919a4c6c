/* Passes of a model over all sequences. */
#include "model/forward/pass.h"

#include <stdio.h>

#include "model/forward/batches.h"

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
	struct al_matrix_f y = {0};
	bool ok = (!v->heads || v->heads(v->context, layer, batch, al_view_f(x), o, err))
		&& al_matrix_init_f(&y, x.rows, x.cols, err) && project(v, layer, batch, o, y, err)
		&& al_layer_add(layer, batch, y, x, err);

	al_matrix_finish_f(&y);
	return ok;
}

static bool pass_layer(struct al_network *network, const struct al_visitor *v, int64_t number,
	const struct al_batch *batch, struct al_matrix_f x, struct al_error *err)
{
	struct al_layer *layer = al_layer_load(network, number, err);
	struct al_trace trace = {0};
	struct al_matrix_f o = {0};
	bool ok = layer
		&& al_layer_heads(layer, batch, al_view_f(x), v->trace ? &trace : NULL, &o, err)
		&& (!v->trace || v->trace(v->context, layer, &trace, al_view_f(o), err))
		&& complete(v, layer, batch, al_view_f(o), x, err);

	al_trace_finish(&trace);
	al_matrix_finish_f(&o);
	al_layer_free(layer);
	return ok;
}

static bool pass_batch(struct al_network *network, const struct al_visitor *v,
	const struct al_batch *batch, struct al_error *err)
{
	struct al_matrix_f x = {0}, hidden = {0};
	bool ok = al_network_embed(network, batch, &x, err);

	for (int64_t number = 0; ok && number < network->n_layers; number++)
		ok = pass_layer(network, v, number, batch, x, err);
	ok = ok
		&& (!v->hidden
			|| (al_network_finish(network, batch, al_view_f(x), &hidden, err)
				&& v->hidden(v->context, batch, al_view_f(hidden), err)));
	al_matrix_finish_f(&x);
	al_matrix_finish_f(&hidden);
	return ok;
}

bool al_network_pass(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, const struct al_visitor *visitor, struct al_error *err)
{
	bool ok = al_network_check_tokens(network, all, err);

	for (size_t first = 0; ok && first < all->n_sequences;) {
		struct al_batch_part part;
		al_batch_part_init(&part, all, first);
		if (watch && watch->show)
			watch->show(watch->context, "sequences", first, all->n_sequences);
		ok = pass_batch(network, visitor, &part.batch, err);
		first += part.batch.n_sequences;
		al_batch_part_finish(&part);
	}
	return ok;
}
