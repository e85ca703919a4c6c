/* What an answer refuses and notes of its inference engine. */
#include "answer/request.h"

#include "ledger/groups.h"

bool al_check_engine(const struct al_request *q, bool has_memory, struct al_error *err)
{
	if (q->engine.utilization && !has_memory)
		return al_fail(err, AL_EINPUT, "--utilization can only be used with `fit`");
	if (q->engine.holds_windows_whole
		&& !al_formula_mentions(q->engine.engine->window, "whole_windows"))
		return al_fail(err, AL_EINPUT,
			"--swa-full: %s has no such setting; remove it, or use --engine llama.cpp",
			q->engine.engine->title);
	if (q->engine.has_mtp && q->draft)
		return al_fail(err, AL_EINPUT, "--mtp and --draft exclude each other: remove one");
	return !q->engine.has_mtp || (q->family && q->family->n_extras > 0)
		|| al_fail(err, AL_EINPUT, "--mtp: %s has no multi-token prediction layers",
			q->name);
}

bool al_refuse_unused_engine(const struct al_asked *asked, const struct al_request *q,
	struct al_error *err)
{
	const struct al_engine *engine = q->engine.engine;

	if (asked->chunk && !al_formula_mentions(engine->window, "chunk"))
		return al_fail(err, AL_EINPUT,
			"--max-num-batched-tokens doesn't affect the cache of engine %s; remove it",
			engine->name);
	return al_check_engine(q, false, err);
}

bool al_is_ideal(const struct al_request *q)
{
	const struct al_engine_choice *c = &q->engine;

	return strcmp(c->engine->name, "ideal") == 0 && c->block == c->engine->block
		&& !c->asked_chunk;
}

struct al_cache_entries al_request_cache(const struct al_request *q)
{
	struct al_ledger_ask ask = al_request_ask(q, &q->variants.items[0],
		al_request_is_about_model(q, true));
	struct al_cache_entries cache = {0};

	ask.detail = AL_MODULES_BY_KIND;
	struct al_ledger *ledger = q->cache.dtype && al_request_open_draft(q, &ask, NULL)
		? al_ledger_create(q->arena, &ask, NULL)
		: NULL;
	if (!ledger || !al_ledger_cache(ledger, q->cache.dtype, 1, 1, 1, &cache, NULL))
		cache.n = 0;
	return cache;
}

static bool has_windows(const struct al_cache_entries *cache)
{
	bool has = false;

	for (size_t i = 0; i < cache->n; i++)
		has |= cache->lines[i].limit > 0;
	return has;
}

/* "16 tokens"; "4 to 256 tokens" where the engine has blocks of its own for the model's caches. */
static const char *block_text(const struct al_request *q, struct al_table *table)
{
	const struct al_engine_choice *c = &q->engine;
	const bool has_pages = q->is_own
		&& al_engine_has_pages(c->engine, q->variants.items[0].variant->name);
	int64_t least = c->block, most = c->block;

	for (size_t i = 0; has_pages && i < c->engine->n_pages; i++) {
		const struct al_engine_page *page = &c->engine->pages[i];
		least = al_least(page->block, least);
		most = al_most(page->block, most);
	}
	return least < most
		? al_format(&table->arena, "%lld to %lld tokens", (long long)least, (long long)most)
		: al_format(&table->arena, "%lld token%s", (long long)most, most == 1 ? "" : "s");
}

void al_note_engine(const struct al_request *q, struct al_table *table)
{
	const struct al_engine_choice *c = &q->engine;

	if (q->draft)
		al_table_note(table,
			"draft model: %s, with %lld token%s speculated in each step; its reads and "
			"FLOPs depend on how many are accepted",
			q->draft->title, (long long)c->speculated, c->speculated == 1 ? "" : "s");
	if (al_is_ideal(q))
		return;
	al_table_note(table, "engine: %s %s, blocks of %s%s (sources: list engines)",
		c->engine->title, c->engine->version, block_text(q, table),
		c->has_mtp ? ", with multi-token prediction layers" : "");
	if (c->engine->sequences)
		al_table_note(table, "a step processes %lld token%s and samples %lld sequence%s",
			(long long)c->chunk, c->chunk == 1 ? "" : "s", (long long)c->sequences,
			c->sequences == 1 ? "" : "s");
	const struct al_cache_entries cache = al_request_cache(q);
	const char *windows = c->holds_windows_whole && c->engine->no_windows
		? c->engine->no_windows
		: c->engine->windows;
	if (windows && has_windows(&cache))
		al_table_note(table, "%s", windows);
	if (c->engine->group_spread > 0 && cache.n > 0 && !al_cache_is_grouped(c->engine, &cache))
		al_table_warn(table,
			"%s groups these layers in its own way, which isn't known: each takes "
			"whole blocks alone",
			c->engine->title);
}

void al_note_context(struct al_request *q, int64_t seq, struct al_table *table)
{
	const struct al_engine *engine = q->engine.engine;
	int64_t context;

	if (!al_request_context(q, &context, NULL) || context == 0 || seq <= context)
		return;
	al_table_warn(table, "%s was made for a context of %s tokens%s", q->title,
		al_exact_grouped(&table->arena,
			al_format(&table->arena, "%lld", (long long)context)),
		engine->beyond ? al_format(q->arena, "; %s %s", engine->title, engine->beyond)
			       : "");
}
