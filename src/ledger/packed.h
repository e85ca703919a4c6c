/* Layers whose caches lie side by side in a block, as vLLM has DeepSeek-V4's: all that keep every
 * token are one group; windows and compressors' states have groups with block tables of their own,
 * which take blocks from the same pool. An engine's "pages" name what is cached so. */
#pragma once

#include "ledger/infer.h"

/* How many lines of `cache` the engine has pages for. */
size_t al_cache_packed(const struct al_engine *engine, const struct al_cache_entries *cache);

/* Sets the tokens that each line holds, and the groups; all lines have pages. */
bool al_cache_pack(struct al_ledger *ledger, const struct al_engine_scope *scope,
	struct al_cache_entries *cache, struct al_error *err) AL_MUST_CHECK;
