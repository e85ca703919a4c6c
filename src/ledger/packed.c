/* Layers whose caches lie side by side in a block: DeepSeek-V4's. */
#include "ledger/packed.h"

/* What is cached in pages that are alike, in `layers` layers. */
struct pages {
	int64_t layers, block, window, bytes; /* window 0: every token is kept */
};

/* Pages with the same block and window are of one kind: they share a block table. */
struct packing {
	const struct al_engine_scope *scope;
	const struct al_cache_entries *cache;
	struct pages *items;
	size_t n;
	size_t *of_line; /* items, by index */
	int64_t group_size; /* layers of a group, of pages of one size */
};

static const struct al_engine_page *find_rule(const struct al_engine *engine,
	const struct al_cache_entry *line)
{
	const char *variant = line->entry->module->configured.variant->name;

	for (size_t i = 0; i < engine->n_pages; i++)
		if (strcmp(engine->pages[i].variant, variant) == 0
			&& strcmp(engine->pages[i].cached, line->entry->entry->name) == 0)
			return &engine->pages[i];
	return NULL;
}

size_t al_cache_packed(const struct al_engine *engine, const struct al_cache_entries *cache)
{
	size_t n = 0;

	for (size_t i = 0; i < cache->n; i++)
		n += find_rule(engine, &cache->lines[i]) != NULL;
	return n;
}

/* ---- pages ---- */

/* Tokens of a window that a state is held as; 0: of what isn't a state. */
static int64_t state_window(const struct al_cache_entry *line)
{
	return line->kind == AL_CACHE_STATE ? line->entry->dims[0] : 0;
}

/* That a line's numbers are of: a state's are of those that are filled. */
static int64_t tokens_of(const struct packing *p, const struct al_cache_entry *line)
{
	const int64_t window = state_window(line);

	return window == 0 ? 1 : al_least(window, p->scope->seq);
}

/* Of `block` tokens in one layer. */
static int64_t page_bytes(const struct packing *p, const struct al_cache_entry *line, int64_t block,
	int64_t alignment)
{
	AL_EXACT(bytes);
	al_dtype_exact_bytes(line->storage, line->rank, bytes);
	al_exact_multiply(bytes, block);
	al_exact_divide(bytes, line->entry->times * tokens_of(p, line) * alignment);
	return al_exact_ceil(bytes) * alignment;
}

/* What is cached of every token has blocks as the engine was started with, if it was told so. */
static void add_line(struct packing *p, size_t i, int64_t alignment)
{
	const struct al_engine_choice *choice = p->scope->choice;
	const struct al_cache_entry *line = &p->cache->lines[i];
	const struct al_engine_page *rule = find_rule(choice->engine, line);
	const int64_t window = state_window(line) > 0 ? state_window(line) : line->limit;
	const bool is_asked = window == 0 && choice->block != choice->engine->block;
	const int64_t block = is_asked ? choice->block : rule->block,
		      bytes = page_bytes(p, line, block, alignment);
	size_t k = 0;

	while (k < p->n
		&& (p->items[k].block != block || p->items[k].window != window
			|| p->items[k].bytes != bytes))
		k++;
	if (k == p->n)
		p->items[p->n++] = (struct pages){.block = block, .window = window, .bytes = bytes};
	p->items[k].layers += line->entry->times;
	p->of_line[i] = k;
}

/* Pages of windows become as large as the next of those that keep every token. */
static void pad_windows(struct packing *p)
{
	for (size_t i = 0; i < p->n; i++) {
		int64_t next = INT64_MAX;
		for (size_t k = 0; k < p->n; k++)
			if (p->items[k].window == 0 && p->items[k].bytes >= p->items[i].bytes
				&& p->items[k].bytes < next)
				next = p->items[k].bytes;
		if (p->items[i].window > 0 && next < INT64_MAX)
			p->items[i].bytes = next;
	}
}

/* ---- kinds and groups ---- */

static bool is_kind(const struct pages *a, const struct pages *b)
{
	return a->block == b->block && a->window == b->window;
}

static bool is_first_of_kind(const struct packing *p, size_t i)
{
	size_t k = 0;

	while (!is_kind(&p->items[k], &p->items[i]))
		k++;
	return k == i;
}

static size_t find_full(const struct packing *p)
{
	size_t i = 0;

	while (i < p->n && p->items[i].window > 0)
		i++;
	return i;
}

/* Layers of a kind: of pages of the size of which it has most. */
static int64_t most_layers(const struct packing *p, const struct pages *kind)
{
	int64_t most = 0;

	for (size_t i = 0; i < p->n; i++)
		if (is_kind(&p->items[i], kind) && p->items[i].layers > most)
			most = p->items[i].layers;
	return most;
}

/* Layers that groups have beyond their own. */
static int64_t padding_of(const struct packing *p, int64_t size)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->n; i++)
		if (is_first_of_kind(p, i)) {
			const int64_t n = most_layers(p, &p->items[i]);
			sum += al_divide_up(n, size) * size - n;
		}
	return sum;
}

/* _approximate_gcd: that with the least padding, of equals the largest; windows don't split what
 * keeps every token. */
static int64_t find_group_size(const struct packing *p)
{
	const int64_t least = most_layers(p, &p->items[find_full(p)]);
	int64_t most = least, found = least;

	for (size_t i = 0; i < p->n; i++)
		most = al_most(p->items[i].layers, most);
	for (int64_t size = least + 1; size <= most; size++)
		if (padding_of(p, size) <= padding_of(p, found))
			found = size;
	return found;
}

static int64_t count_groups(const struct packing *p, const struct pages *kind)
{
	return kind->window > 0 ? al_divide_up(most_layers(p, kind), p->group_size) : 1;
}

static int64_t layers_of_group(const struct packing *p, const struct pages *pages)
{
	return al_divide_up(pages->layers, count_groups(p, pages));
}

/* ---- blocks ---- */

/* Of all layers of a kind, or of its largest group. */
static int64_t kind_bytes(const struct packing *p, const struct pages *kind, bool is_group)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < p->n; i++)
		if (is_kind(&p->items[i], kind))
			bytes += p->items[i].bytes
				* (is_group ? layers_of_group(p, &p->items[i])
					    : p->items[i].layers);
	return bytes;
}

/* As large as the largest group. */
static int64_t widest(const struct packing *p)
{
	int64_t most = 0;

	for (size_t i = 0; i < p->n; i++) {
		const int64_t bytes = kind_bytes(p, &p->items[i], true);
		most = al_most(bytes, most);
	}
	return most;
}

/* A place for each layer of a group, by the size of pages. */
static int64_t slots(const struct packing *p)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		int64_t most = 0;
		bool is_first = true;
		for (size_t k = 0; k < p->n; k++) {
			const int64_t n = layers_of_group(p, &p->items[k]);
			if (p->items[k].bytes != p->items[i].bytes)
				continue;
			is_first &= k >= i;
			most = al_most(n, most);
		}
		sum += is_first ? p->items[i].bytes * most : 0;
	}
	return sum;
}

/* As many pages of each size as a group has of one. */
static int64_t tuples(const struct packing *p)
{
	int64_t most = 0, sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		const int64_t n = layers_of_group(p, &p->items[i]);
		most = al_most(n, most);
		sum += p->items[i].window == 0 ? p->items[i].bytes : 0;
	}
	return most * sum;
}

static int64_t block_bytes(const struct packing *p)
{
	switch (p->scope->choice->engine->packing) {
	case AL_PACKING_TUPLES:
		return tuples(p);
	case AL_PACKING_SLOTS:
		return slots(p);
	default:
		return widest(p);
	}
}

/* ---- a sequence ---- */

static bool find_blocks(const struct packing *p, const struct pages *pages, int64_t *out,
	struct al_error *err)
{
	struct al_engine_choice choice = *p->scope->choice;
	struct al_engine_scope scope = *p->scope;

	choice.block = pages->block;
	scope.choice = &choice;
	scope.window = pages->window;
	if (!al_engine_tokens(&scope, out, err))
		return false;
	*out /= pages->block;
	return true;
}

/* Until blocks were as large as the largest group, the log counted a sequence's bytes in the blocks
 * of what keeps every token. */
static bool add_blocks(const struct packing *p, struct al_layer_groups *out, struct al_error *err)
{
	const bool is_widest = p->scope->choice->engine->packing == AL_PACKING_WIDEST;
	int64_t blocks, bytes = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct pages *kind = &p->items[i];
		if (!is_first_of_kind(p, i))
			continue;
		if (!find_blocks(p, kind, &blocks, err))
			return false;
		out->n_groups += count_groups(p, kind);
		out->blocks += count_groups(p, kind) * blocks;
		bytes += blocks * kind_bytes(p, kind, false);
	}
	out->block_bytes = block_bytes(p);
	out->counted = is_widest
		? out->blocks
		: al_divide_up(bytes, kind_bytes(p, &p->items[find_full(p)], false));
	return true;
}

/* What blocks hold of a line, tokens or times a state, and of none. */
static bool hold_lines(const struct packing *p, struct al_cache_entry *lines, mpq_t padding,
	struct al_error *err)
{
	for (size_t i = 0; i < p->cache->n; i++) {
		const struct pages *pages = &p->items[p->of_line[i]];
		int64_t blocks;
		if (!find_blocks(p, pages, &blocks, err))
			return false;
		lines[i].held = blocks * pages->block / tokens_of(p, &lines[i]);
		AL_EXACT(bytes);
		al_dtype_exact_bytes(lines[i].storage, lines[i].rank, bytes);
		al_exact_multiply(bytes, lines[i].held);
		mpq_sub(padding, padding, bytes);
	}
	return true;
}

bool al_cache_pack(struct al_ledger *ledger, const struct al_engine_scope *scope,
	struct al_cache_entries *cache, struct al_error *err)
{
	struct packing p = {.scope = scope,
		.cache = cache,
		.items = al_new_array(&ledger->cached, struct pages, cache->n),
		.of_line = al_new_array(&ledger->cached, size_t, cache->n)};
	struct al_layer_groups *out = &cache->groups;
	mpq_ptr padding = al_exact_new(&ledger->cached);
	int64_t alignment;

	if (!al_engine_bytes(scope, scope->choice->engine->alignment, &alignment, err))
		return false;
	for (size_t i = 0; i < cache->n; i++)
		add_line(&p, i, al_most(alignment, 1));
	if (find_full(&p) == p.n)
		return al_fail(err, AL_EINPUT, "engine %s: none of these layers keeps every token",
			scope->choice->engine->name);
	p.group_size = find_group_size(&p);
	if (scope->choice->engine->packing != AL_PACKING_WIDEST)
		pad_windows(&p);
	if (!add_blocks(&p, out, err))
		return false;
	out->least_block = p.items[find_full(&p)].block;
	al_exact_set(padding, out->blocks);
	al_exact_multiply(padding, out->block_bytes);
	out->padding = padding;
	return hold_lines(&p, cache->lines, padding, err);
}
