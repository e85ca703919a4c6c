/* Passes of a model over all sequences, layer by layer, so that each layer is read once and what is
 * kept of it can go before the next. */
#include "model/forward/pass.h"

#include "base/spill.h"

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

/* ---- the residual stream between two layers ---- */

struct stream {
	struct al_network *network;
	struct al_batch_part *parts; /* [n] */
	struct al_matrix_f *kept; /* [n], [d_model][tokens of the part], or empty */
	size_t n;
	struct al_spill file; /* all tokens in their order, where they take too much memory */
	bool is_embedded;
};

static bool stream_init(struct stream *s, struct al_network *network, const struct al_batch *all,
	struct al_error *err)
{
	const uint64_t bytes = (uint64_t)al_batch_tokens(all) * (uint64_t)network->d_model * 4;

	*s = (struct stream){.network = network,
		.parts = al_calloc(all->n_sequences, sizeof(*s->parts)),
		.kept = al_calloc(all->n_sequences, sizeof(*s->kept))};
	for (size_t first = 0; first < all->n_sequences; s->n++) {
		al_batch_part_init(&s->parts[s->n], all, first);
		first += s->parts[s->n].batch.n_sequences;
	}
	return bytes <= network->most_kept || al_spill_open(&s->file, NULL, err);
}

static void stream_finish(struct stream *s)
{
	for (size_t i = 0; i < s->n; i++) {
		al_batch_part_finish(&s->parts[i]);
		al_matrix_finish_f(&s->kept[i]);
	}
	free(s->parts);
	free(s->kept);
	al_spill_close(&s->file);
}

/* Where a part is in the file, as two numbers of bytes. */
static void find_place(const struct stream *s, size_t part, uint64_t *at, size_t *length)
{
	const struct al_batch *batch = &s->parts[part].batch;
	const size_t first = (size_t)(batch->tokens - s->parts[0].batch.tokens);
	const size_t column = (size_t)s->network->d_model * sizeof(float);

	*at = (uint64_t)first * column;
	*length = al_batch_tokens(batch) * column;
}

/* Makes kept[part] what the layers so far put out. */
static bool take(struct stream *s, size_t part, struct al_error *err)
{
	const struct al_batch *batch = &s->parts[part].batch;
	struct al_matrix_f *x = &s->kept[part];
	uint64_t at;
	size_t length;

	if (!s->is_embedded)
		return al_network_embed(s->network, batch, 0, x, err);
	find_place(s, part, &at, &length);
	return !s->file.is_open
		|| (al_matrix_init_f(x, (size_t)s->network->d_model, al_batch_tokens(batch), err)
			&& al_spill_get(&s->file, at, x->data, length, err));
}

static bool put_back(struct stream *s, size_t part, struct al_error *err)
{
	struct al_matrix_f *x = &s->kept[part];
	uint64_t at;
	size_t length;

	if (!s->file.is_open)
		return true;
	find_place(s, part, &at, &length);
	if (!al_spill_put_at(&s->file, at, x->data, length, err))
		return false;
	al_matrix_finish_f(x);
	return true;
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
	const bool ok = al_layer_heads(layer, batch, al_view_f(x),
				v->trace || v->weights ? &trace : NULL, &o, err)
		&& (!v->trace || v->trace(v->context, layer, &trace, al_view_f(o), err))
		&& complete(v, layer, batch, al_view_f(o), x, err);

	al_trace_finish(&trace);
	return ok;
}

static bool pass_layer(struct stream *s, const struct al_visitor *v, int64_t number,
	const struct al_watch *watch, struct al_error *err)
{
	struct al_layer *layer = al_layer_load(s->network, number, err);
	const size_t n_steps = (size_t)s->network->n_layers * s->n;
	bool ok = layer;

	for (size_t i = 0; ok && i < s->n; i++)
		ok = al_watch_show(watch, "layers", (size_t)number * s->n + i, n_steps, err)
			&& take(s, i, err)
			&& pass_part(v, layer, &s->parts[i].batch, s->kept[i], err)
			&& put_back(s, i, err);
	s->is_embedded = true;
	ok = ok && (!v->done || v->done(v->context, layer, err));
	al_layer_free(layer);
	return ok;
}

static bool show_hidden(struct stream *s, const struct al_visitor *v, size_t part,
	struct al_error *err)
{
	const struct al_batch *batch = &s->parts[part].batch;
	AL_OWNED_F struct al_matrix_f hidden = {0};

	if (!take(s, part, err)
		|| !al_network_finish(s->network, batch, al_view_f(s->kept[part]), &hidden, err))
		return false;
	al_matrix_finish_f(&s->kept[part]);
	return v->hidden(v->context, batch, al_view_f(hidden), err);
}

bool al_network_pass(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, const struct al_visitor *visitor, struct al_error *err)
{
	struct stream s;

	if (!al_network_check_tokens(network, all, err))
		return false;
	bool ok = stream_init(&s, network, all, err);
	for (int64_t number = 0; ok && number < network->n_layers; number++)
		ok = pass_layer(&s, visitor, number, watch, err);
	for (size_t i = 0; ok && visitor->hidden && i < s.n; i++)
		ok = show_hidden(&s, visitor, i, err);
	stream_finish(&s);
	return ok;
}
