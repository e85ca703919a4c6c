/* Groups of layers: pages, blocks, and what a sequence takes of them. */
#include "ledger/groups.h"

#include "ledger/packed.h"

/* A latent needs tokens like any full attention. */
enum class { EVERY_TOKEN, WINDOW, SOURCE, STATE };

/* Layers that are alike. */
struct layers {
	const struct al_ledger_module *module;
	enum class class;
	int64_t n, window; /* window 0: none */
	int64_t heads, width; /* of keys; 0: it has none */
	mpq_ptr bytes; /* of a token, or of a state, in one of them */
	int64_t block, page; /* tokens, and their bytes */
	int64_t pages; /* of one sequence */
};

struct grouping {
	struct al_arena *arena;
	const struct al_engine_scope *scope;
	struct al_cache_entries *cache;
	int64_t source_seq;
	struct layers *layers;
	size_t n, room;
};

/* ---- layers ---- */

static enum class class_of(const struct al_cache_entry *line) {
	return line->kind == AL_CACHE_STATE    ? STATE
		: line->kind == AL_CACHE_CROSS ? SOURCE
		: line->limit > 0	       ? WINDOW
					       : EVERY_TOKEN;
}

static struct layers *find_layers(const struct grouping *g, const struct al_cache_entry *line)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->layers[i].module == line->entry->module
			&& g->layers[i].class == class_of(line))
			return &g->layers[i];
	return NULL;
}

static int64_t symbol_of(const struct al_cache_entry *line, const char *symbol)
{
	const struct al_setting *setting = NULL;

	return al_settings_get(&line->entry->module->block->settings, symbol, &setting, NULL)
			&& setting && setting->value.kind == AL_VALUE_INTEGER
		? setting->value.integer
		: 0;
}

static void add_line(struct grouping *g, const struct al_cache_entry *line)
{
	struct layers *layers = find_layers(g, line);

	if (!layers) {
		layers = AL_APPEND(g->arena, g->layers, g->n, g->room);
		*layers = (struct layers){.module = line->entry->module,
			.class = class_of(line),
			.n = line->entry->times,
			.window = class_of(line) == WINDOW ? line->limit : 0,
			.heads = symbol_of(line, "n_kv_heads"),
			.width = symbol_of(line, "d_head"),
			.block = g->scope->choice->block,
			.bytes = al_exact_new(g->arena)};
	}
	AL_EXACT(bytes);
	al_dtype_exact_bytes(line->storage, line->rank, bytes);
	al_exact_divide(bytes, line->entry->times);
	al_exact_add(layers->bytes, bytes);
}

static void set_page(struct layers *layers)
{
	AL_EXACT(bytes);
	mpq_set(bytes, layers->bytes);
	if (layers->class != STATE)
		al_exact_multiply(bytes, layers->block);
	layers->page = al_exact_ceil(bytes);
}

/* ---- pages ---- */

static bool are_alike(const struct grouping *g)
{
	for (size_t i = 1; i < g->n; i++)
		if (g->layers[i].class != g->layers[0].class
			|| g->layers[i].window != g->layers[0].window)
			return false;
	return true;
}

static int64_t largest_page(const struct grouping *g, bool of_states)
{
	int64_t most = 0;

	for (size_t i = 0; i < g->n; i++)
		if ((g->layers[i].class == STATE) == of_states && g->layers[i].page > most)
			most = g->layers[i].page;
	return most;
}

/* Blocks of attention take so many tokens that their page holds a state
 * (platforms/interface.py, _align_hybrid_block_size). */
static void fit_states(struct grouping *g)
{
	const int64_t state = largest_page(g, true);
	size_t i = 0;

	while (i < g->n && g->layers[i].class == STATE)
		i++;
	if (state == 0 || i == g->n || g->layers[i].page == 0)
		return;
	const int64_t times = al_divide_up(state, g->layers[i].page);
	for (i = 0; i < g->n; i++)
		if (g->layers[i].class != STATE) {
			g->layers[i].block *= times;
			set_page(&g->layers[i]);
		}
}

/* unify_kv_cache_spec_page_size: more tokens where they fill the page, else padding. */
static void unify_pages(struct grouping *g)
{
	const int64_t attention = largest_page(g, false), state = largest_page(g, true);
	const int64_t most = al_most(attention, state);

	for (size_t i = 0; i < g->n; i++) {
		struct layers *layers = &g->layers[i];
		if (layers->class != STATE && layers->page > 0 && most % layers->page == 0)
			layers->block *= most / layers->page;
		layers->page = most;
	}
}

/* ---- a sequence ---- */

static bool find_pages(const struct grouping *g, struct layers *layers, struct al_error *err)
{
	struct al_engine_choice choice = *g->scope->choice;
	struct al_engine_scope scope = *g->scope;

	if (layers->class == STATE)
		return al_engine_bytes(&scope, choice.engine->state_pages, &layers->pages, err);
	choice.block = layers->block;
	scope.choice = &choice;
	scope.window = layers->window;
	if (layers->class == SOURCE)
		scope.seq = g->source_seq;
	if (!al_engine_tokens(&scope, &layers->pages, err))
		return false;
	layers->pages /= layers->block;
	return true;
}

/* ---- groups ---- */

/* Layers that share a group's block table: equal tokens in equal blocks. */
static bool share_group(const struct layers *a, const struct layers *b)
{
	const bool has_heads = a->class != STATE;

	return a->class == b->class && a->window == b->window && a->block == b->block
		&& mpq_equal(a->bytes, b->bytes)
		&& (!has_heads || (a->heads == b->heads && a->width == b->width));
}

/* Those like layers[i], counted with the first of them; else 0. */
static int64_t count_alike(const struct grouping *g, size_t i)
{
	int64_t n = 0;

	for (size_t k = 0; k < g->n; k++)
		if (share_group(&g->layers[k], &g->layers[i])) {
			if (k < i)
				return 0;
			n += g->layers[k].n;
		}
	return n;
}

/* As many as the rarest kind has, or the most frequent one if it isn't much larger. */
static int64_t find_group_size(const struct grouping *g)
{
	int64_t least = INT64_MAX, most = 0;

	for (size_t i = 0; i < g->n; i++) {
		const int64_t n = count_alike(g, i);
		least = n > 0 && n < least ? n : least;
		most = al_most(n, most);
	}
	return 100 * most < g->scope->choice->engine->group_spread * least ? most : least;
}

static void add_groups(const struct grouping *g, struct al_layer_groups *out)
{
	const int64_t size = find_group_size(g);
	int64_t widest = 0;

	for (size_t i = 0; i < g->n; i++) {
		const int64_t n = count_alike(g, i), groups = al_divide_up(n, size);
		if (n == 0)
			continue;
		const int64_t width = al_divide_up(n, groups);
		widest = al_most(width, widest);
		out->n_groups += groups;
		out->blocks += groups * g->layers[i].pages;
	}
	out->block_bytes = widest * g->layers[0].page;
}

/* One group: its block has a page of each layer, whatever their sizes. */
static void add_one_group(const struct grouping *g, struct al_layer_groups *out)
{
	out->n_groups = 1;
	for (size_t i = 0; i < g->n; i++) {
		out->block_bytes += g->layers[i].n * g->layers[i].page;
		out->blocks = al_most(g->layers[i].pages, out->blocks);
	}
}

static int64_t least_block(const struct grouping *g)
{
	int64_t least = 0;

	for (size_t i = 0; i < g->n; i++)
		if (g->layers[i].class != STATE && (least == 0 || g->layers[i].block < least))
			least = g->layers[i].block;
	return least ? least : g->scope->seq;
}

static void hold_lines(struct grouping *g, struct al_layer_groups *out)
{
	mpq_ptr padding = al_exact_new(g->arena);

	al_exact_set(padding, out->blocks);
	al_exact_multiply(padding, out->block_bytes);
	for (size_t i = 0; i < g->cache->n; i++) {
		struct al_cache_entry *line = &g->cache->lines[i];
		const struct layers *layers = find_layers(g, line);
		AL_EXACT(bytes);
		line->held = layers->pages * (layers->class == STATE ? 1 : layers->block);
		al_dtype_exact_bytes(line->storage, line->rank, bytes);
		al_exact_multiply(bytes, line->held);
		mpq_sub(padding, padding, bytes);
	}
	out->padding = padding;
}

bool al_cache_is_grouped(const struct al_engine *engine, const struct al_cache_entries *cache)
{
	const size_t packed = al_cache_packed(engine, cache);

	return engine->group_spread > 0 && cache->n > 0 && (packed == 0 || packed == cache->n);
}

bool al_cache_group(struct al_ledger *ledger, const struct al_engine_scope *scope,
	int64_t source_seq, struct al_cache_entries *cache, struct al_error *err)
{
	struct grouping g = {.arena = &ledger->cached,
		.scope = scope,
		.cache = cache,
		.source_seq = source_seq};

	if (al_cache_packed(scope->choice->engine, cache) > 0)
		return al_cache_pack(ledger, scope, cache, err);
	for (size_t i = 0; i < cache->n; i++)
		add_line(&g, &cache->lines[i]);
	for (size_t i = 0; i < g.n; i++)
		set_page(&g.layers[i]);
	const bool is_one = are_alike(&g);
	if (!is_one) {
		fit_states(&g);
		unify_pages(&g);
	}
	for (size_t i = 0; i < g.n; i++)
		if (!find_pages(&g, &g.layers[i], err))
			return false;
	(is_one ? add_one_group : add_groups)(&g, &cache->groups);
	cache->groups.least_block = least_block(&g);
	cache->groups.counted = cache->groups.blocks;
	hold_lines(&g, &cache->groups);
	return true;
}
