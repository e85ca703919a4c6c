/* A decoder without each of its heads: what comes before a head's layer is computed once. Of that
 * layer all that is left out is tried on the same inputs, and the rest of the model runs on several
 * of these streams at a time, as if they were more sequences. */

#include "model/forward/alike.h"
#include "model/forward/evaluate.h"

const char *const al_ablated_names[AL_N_ABLATED] = {"heads", "groups", "layers"};
const char *const al_replacement_names[AL_N_REPLACEMENTS] = {"zero", "mean"};

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
	const struct al_watch *watch;
	struct al_ablations *out;
	double *means; /* [n_layers][width]: of each number of the heads' outputs; NULL: zeros */
	size_t width; /* n_heads*d_value */
	struct al_alike alike;
	size_t n_sequences, n_done; /* n_done: of them times the layers */
};

/* Rows of the left-out heads in the columns of one stream. */
static void replace(const struct ablating *a, const struct al_ablation *ablation,
	struct al_matrix_f o)
{
	const size_t d_value = (size_t)ablation->attention->d_value;
	const size_t first = (size_t)ablation->first * d_value;
	const size_t end = first + (size_t)ablation->n * d_value;
	const double *means = a->means ? a->means + (size_t)ablation->layer * a->width : NULL;

	for (size_t j = 0; j < o.cols; j++)
		for (size_t i = first; i < end; i++)
			o.data[i + j * o.ld] = means ? (float)means[i] : 0;
}

/* Each stream's loss to its ablation. */
static bool add_losses(const struct ablating *a, const struct streams *s, struct al_view_f hidden,
	struct al_ablation *items, struct al_error *err)
{
	AL_FREED struct al_loss *losses = al_calloc(s->n_copies, sizeof(*losses));

	if (!al_losses_add(a->network, &s->batch, hidden, &a->alike, losses, s->n_copies, err))
		return false;
	for (size_t i = 0; i < s->n_copies; i++)
		items[i].nats += losses[i].nats;
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
		replace(a, &items[i], al_part_f(os, 0, i * s.n_tokens, os.rows, s.n_tokens));
	ok = ok && al_layer_complete(layer, &s.batch, al_view_f(os), xs, err);
	al_matrix_finish_f(&os); /* the rest of the model needs the room */
	ok = ok && al_network_run_from(a->network, layer->number + 1, &s.batch, xs, &hidden, err)
		&& add_losses(a, &s, al_view_f(hidden), items, err);
	streams_finish(&s);
	return ok;
}

static bool try_layer(void *context, const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_view_f o, struct al_error *err)
{
	struct ablating *a = context;
	const size_t n_layers = (size_t)a->network->n_layers, n = a->out->n / n_layers;
	const size_t most = STREAM_TOKENS / x.cols > 0 ? STREAM_TOKENS / x.cols : 1;
	struct al_ablation *items = a->out->items + (size_t)layer->number * n;
	bool ok = al_watch_show(a->watch, layer->attention->name, a->n_done,
		a->n_sequences * n_layers, err);

	for (size_t first = 0; ok && first < n; first += most)
		ok = try_some(a, layer, batch, x, o, items + first,
			n - first < most ? n - first : most, err);
	a->n_done += batch->n_sequences;
	return ok;
}

static bool add_whole(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	const struct ablating *a = context;

	return al_losses_add(a->network, batch, hidden, &a->alike, &a->out->whole, 1, err);
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

static bool find_means(struct ablating *a, const struct al_batch *all, struct al_error *err)
{
	const size_t n = (size_t)a->network->n_layers * a->width;

	a->means = al_calloc(n, sizeof(*a->means));
	if (!al_network_pass(a->network, all, NULL,
		    &(struct al_visitor){.heads = add_means, .context = a}, err))
		return false;
	for (size_t i = 0; i < n; i++)
		a->means[i] /= (double)al_batch_tokens(all);
	return true;
}

/* ---- the list ---- */

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

/* All layers have modules of one form: one item after the other, layer by layer. */
static bool list_ablations(struct ablating *a, enum al_ablated what, struct al_error *err)
{
	const struct al_model_view *view = a->network->view;
	const struct al_attention *first = &view->modules[0];
	const int64_t at_once = heads_at_once(first, what), n = first->n_heads / at_once;
	const int64_t n_layers = a->network->n_layers;

	for (size_t i = 0; i < view->n_modules; i++)
		if (view->modules[i].n_heads != first->n_heads
			|| view->modules[i].d_value != first->d_value
			|| heads_at_once(&view->modules[i], what) != at_once)
			return al_fail(err, AL_EINPUT, "%s and %s have different heads",
				first->name, view->modules[i].name);
	if ((int64_t)view->n_modules != n_layers)
		return al_fail(err, AL_EINPUT,
			"%zu attention modules in %lld layers, expected one per layer",
			view->n_modules, (long long)n_layers);
	a->width = (size_t)(first->n_heads * first->d_value);
	a->out->n = (size_t)(n_layers * n);
	a->out->items = al_calloc(a->out->n, sizeof(*a->out->items));
	for (size_t i = 0; i < a->out->n; i++)
		a->out->items[i] = (struct al_ablation){.attention = &view->modules[i / (size_t)n],
			.layer = (int64_t)i / n,
			.first = (int64_t)i % n * at_once,
			.n = at_once};
	return true;
}

bool al_evaluate_ablations(struct al_network *network, const struct al_batch *all,
	enum al_ablated what, enum al_replacement by, const struct al_watch *watch,
	struct al_ablations *out, struct al_error *err)
{
	struct ablating a = {.network = network,
		.watch = watch,
		.out = out,
		.n_sequences = all->n_sequences};

	*out = (struct al_ablations){0};
	bool ok = al_network_check_tokens(network, all, err) && list_ablations(&a, what, err)
		&& al_alike_find(network, &a.alike, err)
		&& (by == AL_REPLACE_ZERO || find_means(&a, all, err))
		&& al_network_pass(network, all, NULL,
			&(struct al_visitor){.heads = try_layer,
				.hidden = add_whole,
				.context = &a},
			err);
	al_alike_finish(&a.alike);
	free(a.means);
	if (!ok)
		free(out->items);
	return ok;
}
