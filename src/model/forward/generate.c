/* Generation: a step is a batch of one token for each sequence. */
#include "model/forward/generate.h"

#include "base/random.h"
#include "model/forward/internal.h"

struct al_generator {
	struct al_network *network;
	struct al_layer **layers; /* [n_layers] */
	struct al_cache *caches; /* [n_layers] */
	size_t *begin; /* [n_sequences + 1] */
	size_t n_sequences, longest, n_past;
};

/* ---- opening ---- */

static bool init_cache(const struct al_generator *g, const struct al_layer *layer,
	struct al_cache *cache, struct al_error *err)
{
	const struct al_attention *a = layer->shape;
	const size_t n = g->n_sequences * g->longest;

	cache->length = g->longest;
	if (!layer->attention)
		return al_mixer_cache_init(layer, g->n_sequences, cache, err);
	return al_matrix_init_f(&cache->k, (size_t)(a->n_kv_heads * a->d_head), n, err)
		&& al_matrix_init_f(&cache->v, (size_t)(a->n_kv_heads * a->d_value), n, err);
}

static bool load_layers(struct al_generator *g, struct al_error *err)
{
	for (int64_t i = 0; i < g->network->n_layers; i++) {
		g->layers[i] = al_layer_load(g->network, i, err);
		if (!g->layers[i] || !init_cache(g, g->layers[i], &g->caches[i], err))
			return false;
		g->layers[i]->cache = &g->caches[i];
	}
	return true;
}

struct al_generator *al_generator_create(struct al_network *network, size_t n_sequences,
	size_t longest, struct al_error *err)
{
	const size_t n_layers = (size_t)network->n_layers;

	struct al_generator *g = al_calloc(1, sizeof(*g));
	*g = (struct al_generator){.network = network,
		.layers = al_calloc(n_layers, sizeof(struct al_layer *)),
		.caches = al_calloc(n_layers, sizeof(*g->caches)),
		.begin = al_calloc(n_sequences + 1, sizeof(*g->begin)),
		.n_sequences = n_sequences,
		.longest = longest};
	for (size_t i = 0; i <= n_sequences; i++)
		g->begin[i] = i;
	if (al_network_keep_head(network, err) && load_layers(g, err))
		return g;
	al_generator_destroy(g);
	return NULL;
}

void al_generator_destroy(struct al_generator *g)
{
	if (!g)
		return;
	for (int64_t i = 0; i < g->network->n_layers; i++) {
		al_layer_free(g->layers[i]);
		al_matrix_finish_f(&g->caches[i].k);
		al_matrix_finish_f(&g->caches[i].v);
		free(g->caches[i].state);
	}
	free(g->layers);
	free(g->caches);
	free(g->begin);
	free(g);
}

/* ---- a step ---- */

bool al_generator_step(struct al_generator *g, const int32_t *tokens, struct al_matrix_f *logits,
	struct al_error *err)
{
	const struct al_batch batch = {tokens, g->begin, g->n_sequences, 0};
	AL_OWNED_F struct al_matrix_f x = {0}, hidden = {0};

	if (g->n_past == g->longest)
		return al_fail(err, AL_EINPUT, "a sequence has %zu tokens, expected at most %zu",
			g->n_past + 1, g->longest);
	bool ok = al_network_check_tokens(g->network, &batch, err)
		&& al_network_embed(g->network, &batch, g->n_past, &x, err);
	for (int64_t i = 0; ok && i < g->network->n_layers; i++) {
		g->caches[i].past = g->n_past;
		ok = al_layer_run(g->layers[i], &batch, x, err);
	}
	ok = ok && al_network_finish(g->network, &batch, al_view_f(x), &hidden, err)
		&& al_network_logits(g->network, &batch, al_view_f(hidden), logits, err);
	if (!ok)
		return al_in(err, "after %zu tokens", g->n_past);
	g->n_past++;
	return true;
}

static int32_t likeliest(const float *logits, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = logits[i] > logits[best] ? i : best;
	return (int32_t)best;
}

/* The token at which the sum of probabilities passes u, in [0, 1). */
static int32_t draw(const float *logits, size_t n, double u)
{
	const double most = (double)logits[likeliest(logits, n)];
	double sum = 0, left;
	size_t i;

	for (i = 0; i < n; i++)
		sum += exp((double)logits[i] - most);
	left = u * sum;
	for (i = 0; i + 1 < n; i++)
		if ((left -= exp((double)logits[i] - most)) < 0)
			break;
	return (int32_t)i;
}

/* ---- samples ---- */

/* Sequences that are written together: fixed, since it may decide how sums are rounded. */
enum { AT_ONCE = 8, MOST_ENDS = 32 };

struct writing {
	struct al_network *network;
	const struct al_sampling *how;
	int32_t ends[MOST_ENDS];
	size_t n_ends, longest;
	int32_t bos;
	int32_t *tokens; /* [AT_ONCE][longest] */
	size_t lengths[AT_ONCE];
	bool is_done[AT_ONCE];
};

static bool read_ends(struct writing *w, struct al_error *err)
{
	size_t n;

	if (!al_network_named_tokens(w->network, "bos_token_id", &w->bos, 1, &n, err)
		|| !al_network_named_tokens(w->network, "eos_token_id", w->ends, MOST_ENDS - 1,
			&w->n_ends, err))
		return false;
	if (n == 0)
		return al_fail(err, AL_EINPUT, "%s: has no bos_token_id to begin a text with",
			w->network->view->config_path ? w->network->view->config_path
						      : "a model without config.json");
	w->ends[w->n_ends++] = w->bos;
	return true;
}

static bool is_end(const struct writing *w, int32_t token)
{
	for (size_t i = 0; i < w->n_ends; i++)
		if (w->ends[i] == token)
			return true;
	return false;
}

static void take(struct writing *w, size_t i, int32_t token)
{
	if (w->is_done[i])
		return;
	w->tokens[i * w->longest + w->lengths[i]++] = token;
	w->is_done[i] = w->lengths[i] == w->longest || is_end(w, token);
}

static bool all_done(const struct writing *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!w->is_done[i])
			return false;
	return true;
}

/* One more token for each; `now` are the last ones, and become the next. */
static bool write_one(struct writing *w, struct al_generator *g, struct al_random *const *random,
	int32_t *now, size_t n, struct al_error *err)
{
	AL_OWNED_F struct al_matrix_f logits = {0};

	if (!al_generator_step(g, now, &logits, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		const float *column = logits.data + i * logits.ld;
		now[i] = w->how->is_greedy
			? likeliest(column, logits.rows)
			: draw(column, logits.rows, al_random_uniform(random[i]));
		take(w, i, now[i]);
	}
	return true;
}

/* Sequences [first, +n). */
static bool write_some(struct writing *w, size_t first, size_t n, struct al_error *err)
{
	struct al_generator *g = al_generator_create(w->network, n, w->longest, err);
	struct al_random *random[AT_ONCE] = {0};
	int32_t now[AT_ONCE];
	bool ok = g != NULL;

	for (size_t i = 0; i < n; i++) {
		random[i] = al_random_create(w->how->seed, first + i, 0, 0);
		w->lengths[i] = 1;
		w->is_done[i] = w->longest == 1;
		w->tokens[i * w->longest] = now[i] = w->bos;
	}
	while (ok && !all_done(w, n))
		ok = write_one(w, g, random, now, n, err);
	for (size_t i = 0; i < n; i++)
		al_random_destroy(random[i]);
	al_generator_destroy(g);
	return ok;
}

static void keep(struct writing *w, size_t i, struct al_sample *out)
{
	const size_t before = out->begin[out->n_sequences], left = w->how->n_tokens - before;
	const size_t n = al_least(w->lengths[i], left);

	if (n == 0)
		return;
	memcpy(out->tokens + before, w->tokens + i * w->longest, n * sizeof(*out->tokens));
	out->begin = al_realloc(out->begin, out->n_sequences + 2, sizeof(*out->begin));
	out->begin[++out->n_sequences] = before + n;
}

static bool write_all(struct writing *w, struct al_sample *out, struct al_error *err)
{
	const size_t n = w->how->is_greedy ? 1 : AT_ONCE;

	do {
		if (!write_some(w, out->n_sequences, n, err))
			return false;
		for (size_t i = 0; i < n; i++)
			keep(w, i, out);
	} while (!w->how->is_greedy && out->begin[out->n_sequences] < w->how->n_tokens);
	return true;
}

static size_t longest_sequence(const struct al_network *network, const struct al_sampling *how)
{
	const size_t most = how->is_greedy ? how->n_tokens : AL_SAMPLE_LONGEST;

	return network->longest > 0 && (size_t)network->longest < most ? (size_t)network->longest
								       : most;
}

bool al_network_sample(struct al_network *network, const struct al_sampling *how,
	struct al_sample *out, struct al_error *err)
{
	struct writing w = {.network = network,
		.how = how,
		.longest = longest_sequence(network, how)};

	if (!al_check_decoder(network, err) || !read_ends(&w, err))
		return false;
	*out = (struct al_sample){.tokens = al_alloc(how->n_tokens, sizeof(*out->tokens)),
		.begin = al_calloc(1, sizeof(*out->begin))};
	w.tokens = al_alloc(AT_ONCE * w.longest, sizeof(*w.tokens));
	bool ok = write_all(&w, out, err);
	free(w.tokens);
	if (!ok)
		al_sample_finish(out);
	return ok;
}

void al_sample_finish(struct al_sample *sample)
{
	free(sample->tokens);
	free(sample->begin);
	*sample = (struct al_sample){0};
}
