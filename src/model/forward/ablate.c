/* A model without some of its heads: what comes before a head's layer is computed once. Of that
 * layer all that is left out is tried on the same inputs, and the rest of the model runs on several
 * of these streams at a time, as if they were more sequences. */

#include "model/forward/alike.h"
#include "model/forward/evaluate.h"

const char *const al_ablated_names[AL_N_ABLATED] = {"heads", "groups", "layers", "pairs"};
const char *const al_replacement_names[AL_N_REPLACEMENTS] = {"zero", "mean", "fitted"};

/* Tokens of all streams together, unless one stream has more. */
enum { STREAM_TOKENS = 4 * AL_BATCH_TOKENS };

/* ---- streams: one batch, several times ---- */

struct streams {
	struct al_batch batch; /* n_copies times the sequences */
	int32_t *tokens;
	size_t *begin;
	size_t n_copies, n_tokens; /* of each */
};

static void streams_init(struct streams *s, const struct al_batch *one, size_t n_copies)
{
	const size_t n = al_batch_tokens(one), n_sequences = one->n_sequences;

	*s = (struct streams){.tokens = al_alloc(n_copies * n, sizeof(*s->tokens)),
		.begin = al_alloc(n_copies * n_sequences + 1, sizeof(*s->begin)),
		.n_copies = n_copies,
		.n_tokens = n};
	for (size_t copy = 0; copy < n_copies; copy++) {
		memcpy(s->tokens + copy * n, one->tokens, n * sizeof(*s->tokens));
		for (size_t i = 0; i < n_sequences; i++)
			s->begin[copy * n_sequences + i] = copy * n + one->begin[i];
	}
	s->begin[n_copies * n_sequences] = n_copies * n;
	s->batch = (struct al_batch){s->tokens, s->begin, n_copies * n_sequences,
		one->first_sequence};
}

static void streams_finish(struct streams *s)
{
	free(s->tokens);
	free(s->begin);
}

/* n_copies of m side by side. */
static bool repeat(struct al_view_f m, size_t n_copies, struct al_matrix_f *out,
	struct al_error *err)
{
	if (!al_matrix_init_f(out, m.rows, n_copies * m.cols, err))
		return false;
	for (size_t j = 0; j < out->cols; j++)
		memcpy(out->data + j * out->ld, m.data + j % m.cols * m.ld, m.rows * sizeof(float));
	return true;
}

/* ---- what is left out ---- */

struct ablating {
	struct al_network *network;
	const struct al_batch *all;
	const struct al_watch *watch;
	const struct al_ablation_measure *measured;
	const struct al_replacing *replacing;
	struct al_ablations *out;
	double *means; /* [n_layers][width]: of each number of the heads' outputs */
	size_t width; /* n_heads*d_value, the most of any module */
	struct al_alike alike;
	size_t n_done; /* sequences times layers */
};

/* The numbers of one head or of neighbors, in the columns of one stream. */
static void replace_part(const struct ablating *a, const struct al_ablation *ablation,
	int64_t first_head, struct al_matrix_f o)
{
	const size_t d_value = (size_t)ablation->attention->d_value;
	const size_t first = (size_t)first_head * d_value;
	const size_t end = first + (size_t)ablation->n * d_value;
	const double *means = a->means + (size_t)ablation->attention->layer * a->width;

	for (size_t j = 0; j < o.cols; j++)
		for (size_t i = first; i < end; i++)
			o.data[i + j * o.ld] = (float)means[i];
}

/* Rows of what the map gives, those of `first_head` and its neighbors. */
static void place_fitted(const struct al_ablation *ablation, int64_t first_head,
	struct al_view_f fitted, struct al_matrix_f o)
{
	const size_t first = (size_t)(first_head * ablation->attention->d_value);

	for (size_t j = 0; j < o.cols; j++)
		memcpy(o.data + first + j * o.ld, fitted.data + j * fitted.ld,
			fitted.rows * sizeof(float));
}

static bool fit(const struct al_ablation *ablation, struct al_matrix_f map, struct al_matrix_f o,
	struct al_error *err)
{
	const size_t rows = (size_t)(ablation->n * ablation->attention->d_value);
	AL_OWNED_F struct al_matrix_f fitted = {0};

	if (!al_matrix_init_f(&fitted, map.cols, o.cols, err)
		|| !al_gemm_f(AL_TRANSPOSED, AL_PLAIN, 1, al_view_f(map), al_view_f(o), 0, fitted,
			err))
		return false;
	place_fitted(ablation, ablation->first, al_view_f(al_part_f(fitted, 0, 0, rows, o.cols)),
		o);
	if (ablation->other >= 0)
		place_fitted(ablation, ablation->other,
			al_view_f(al_part_f(fitted, rows, 0, rows, o.cols)), o);
	return true;
}

static bool replace(const struct ablating *a, const struct al_ablation *ablation,
	struct al_matrix_f o, struct al_error *err)
{
	if (a->replacing->by == AL_REPLACE_FITTED)
		return fit(ablation, a->replacing->maps[ablation - a->out->items], o, err);
	replace_part(a, ablation, ablation->first, o);
	if (ablation->other >= 0)
		replace_part(a, ablation, ablation->other, o);
	return true;
}

/* ---- what is measured ---- */

static double change_of_embedding(struct al_matrix embeddings, size_t sequence,
	struct al_view_f hidden, size_t first, size_t n, double *room)
{
	double cosine = 0;

	al_pool(hidden, first, n, room);
	for (size_t i = 0; i < embeddings.rows; i++)
		cosine += room[i] * embeddings.data[i + sequence * embeddings.ld];
	return 1 - cosine;
}

/* Of n_each sequences, as often as the batch has them. */
static int32_t *repeat_targets(const struct ablating *a, const struct al_batch *batch,
	const int32_t *targets, size_t n_each)
{
	const size_t first = batch->first_sequence - a->all->first_sequence;
	const size_t n = batch->begin[n_each], n_all = al_batch_tokens(batch);
	int32_t *out = al_alloc(n_all, sizeof(*out));

	for (size_t i = 0; i < n_all; i += n)
		memcpy(out + i, targets + a->all->begin[first], n * sizeof(*out));
	return out;
}

static bool measure(const struct ablating *a, const struct al_batch *batch, struct al_view_f hidden,
	struct al_unit *out, size_t n_each, struct al_error *err)
{
	const int32_t *targets = a->measured->loss ? a->measured->loss->targets : NULL;
	AL_FREED int32_t *repeated = targets ? repeat_targets(a, batch, targets, n_each) : NULL;
	const struct al_loss loss = {.all = batch, .targets = repeated, .sequences = out};
	AL_FREED double *room = al_alloc(hidden.rows, sizeof(*room));

	if (a->measured->loss)
		return al_loss_add(a->network, batch, hidden, &a->alike, &loss, err);
	for (size_t i = 0; i < batch->n_sequences; i++)
		out[i] = (struct al_unit){change_of_embedding(*a->measured->embeddings,
						  batch->first_sequence - a->all->first_sequence
							  + i % n_each,
						  hidden, batch->begin[i],
						  batch->begin[i + 1] - batch->begin[i], room),
			1};
	return true;
}

/* Of each stream to its ablation. */
static bool measure_streams(const struct ablating *a, const struct streams *s,
	struct al_view_f hidden, struct al_ablation *items, struct al_error *err)
{
	const size_t n_each = s->batch.n_sequences / s->n_copies;
	const size_t first = s->batch.first_sequence - a->all->first_sequence;
	AL_FREED struct al_unit *units = al_calloc(s->batch.n_sequences, sizeof(*units));

	if (!measure(a, &s->batch, hidden, units, n_each, err))
		return false;
	for (size_t i = 0; i < s->n_copies; i++)
		memcpy(items[i].without + first, units + i * n_each, n_each * sizeof(*units));
	return true;
}

/* The rest of the model for some ablations of one layer, which x goes into and whose heads put out
 * o. */
static bool try_some(const struct ablating *a, const struct al_layer *layer,
	const struct al_batch *batch, struct al_view_f x, struct al_view_f o,
	struct al_ablation *items, size_t n, struct al_error *err)
{
	AL_OWNED_F struct al_matrix_f xs = {0}, os = {0}, hidden = {0};
	struct streams s;

	streams_init(&s, batch, n);
	bool ok = repeat(x, n, &xs, err) && repeat(o, n, &os, err);
	for (size_t i = 0; ok && i < n; i++)
		ok = replace(a, &items[i], al_part_f(os, 0, i * s.n_tokens, os.rows, s.n_tokens),
			err);
	ok = ok && al_layer_complete(layer, &s.batch, al_view_f(os), xs, err);
	al_matrix_finish_f(&os); /* the rest of the model needs the room */
	ok = ok && al_network_run_from(a->network, layer->number + 1, &s.batch, xs, &hidden, err)
		&& measure_streams(a, &s, al_view_f(hidden), items, err);
	streams_finish(&s);
	return ok;
}

static bool try_layer(void *context, const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_view_f o, struct al_error *err)
{
	struct ablating *a = context;
	const size_t most = al_most(STREAM_TOKENS / x.cols, 1);
	struct al_ablation *items = a->out->items;
	size_t first = 0, end;
	bool ok = al_watch_show(a->watch, layer->attention->name, a->n_done,
		a->all->n_sequences * (size_t)a->network->n_layers, err);

	while (first < a->out->n && items[first].attention != layer->attention)
		first++;
	for (end = first; end < a->out->n && items[end].attention == layer->attention;)
		end++;
	for (; ok && first < end; first += most)
		ok = try_some(a, layer, batch, x, o, items + first, al_least(end - first, most),
			err);
	a->n_done += batch->n_sequences;
	return ok;
}

static bool add_whole(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	const struct ablating *a = context;

	return !a->measured->loss
		|| al_loss_add(a->network, batch, hidden, &a->alike, a->measured->loss, err);
}

/* ---- means ---- */

static bool add_means(void *context, const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_view_f o, struct al_error *err)
{
	const struct ablating *a = context;
	double *means = a->means + (size_t)layer->number * a->width;

	(void)batch;
	(void)x;
	(void)err;
	for (size_t j = 0; j < o.cols; j++)
		for (size_t i = 0; i < o.rows; i++)
			means[i] += (double)o.data[i + j * o.ld];
	return true;
}

/* Zeros where nothing else is asked for. */
static bool find_means(struct ablating *a, struct al_error *err)
{
	const size_t n = (size_t)a->network->n_layers * a->width;

	a->means = al_calloc(n, sizeof(*a->means));
	if (a->replacing->by != AL_REPLACE_MEAN)
		return true;
	if (!al_network_pass(a->network, a->all, NULL,
		    &(struct al_visitor){.heads = add_means, .context = a}, err))
		return false;
	for (size_t i = 0; i < n; i++)
		a->means[i] /= (double)al_batch_tokens(a->all);
	return true;
}

/* ---- the list ---- */

void al_ablations_begin(struct al_ablations *out, const struct al_batch *all, size_t n)
{
	*out = (struct al_ablations){.n_sequences = all->n_sequences};
	al_arena_init(&out->arena);
	out->items = al_new_array(&out->arena, struct al_ablation, n);
}

void al_ablations_add(struct al_ablations *out, const struct al_attention *attention, int64_t first,
	int64_t other, int64_t n)
{
	out->items[out->n++] = (struct al_ablation){attention, first, other, n,
		al_new_array(&out->arena, struct al_unit, out->n_sequences)};
}

void al_ablations_finish(void *ablations)
{
	al_arena_finish(&((struct al_ablations *)ablations)->arena);
}

/* Heads that go together, of a module. */
static int64_t heads_at_once(const struct al_attention *attention, enum al_ablated what)
{
	switch (what) {
	case AL_ABLATE_HEADS:
		return 1;
	case AL_ABLATE_GROUPS:
		return attention->n_heads / attention->n_kv_heads;
	default:
		return attention->n_heads;
	}
}

void al_ablations_list(struct al_ablations *out, const struct al_network *network,
	const struct al_batch *all, enum al_ablated what)
{
	const struct al_model_view *view = network->view;
	size_t n = 0;

	for (size_t i = 0; i < view->n_modules; i++)
		n += (size_t)view->modules[i].n_heads;
	al_ablations_begin(out, all, n);
	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *a = &view->modules[i];
		const int64_t at_once = heads_at_once(a, what);
		for (int64_t head = 0; head < a->n_heads; head += at_once)
			al_ablations_add(out, a, head, -1, at_once);
	}
}

static size_t widest(const struct al_model_view *view)
{
	int64_t width = 0;

	for (size_t i = 0; i < view->n_modules; i++) {
		const int64_t own = view->modules[i].n_heads * view->modules[i].d_value;
		width = al_most(own, width);
	}
	return (size_t)width;
}

static bool check_modules(const struct al_network *network, struct al_error *err)
{
	const size_t n = network->view->n_modules;

	return al_network_shares_nothing(network)
		|| al_fail(err, AL_EINPUT,
			"%lld layers share %zu attention module%s: a head can't be left out of one "
			"layer alone, which ablation needs",
			(long long)network->n_layers, n, n == 1 ? "" : "s");
}

bool al_evaluate_ablations(struct al_network *network, const struct al_batch *all,
	const struct al_ablation_measure *measured, const struct al_replacing *replacing,
	const struct al_watch *watch, struct al_ablations *ablations, struct al_error *err)
{
	struct ablating a = {.network = network,
		.all = all,
		.watch = watch,
		.measured = measured,
		.replacing = replacing,
		.out = ablations,
		.width = widest(network->view)};

	if (measured->loss)
		memset(measured->loss->sequences, 0,
			all->n_sequences * sizeof(*measured->loss->sequences));
	bool ok = al_network_check_tokens(network, all, err) && check_modules(network, err)
		&& (!measured->loss || al_alike_find(network, &a.alike, err)) && find_means(&a, err)
		&& al_network_pass(network, all, NULL,
			&(struct al_visitor){.heads = try_layer,
				.hidden = add_whole,
				.context = &a},
			err);
	al_alike_finish(&a.alike);
	free(a.means);
	return ok;
}
