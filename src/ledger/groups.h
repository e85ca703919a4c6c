/* Groups of layers, as vLLM has them (v1/core/kv_cache_utils.py, get_kv_cache_groups): its cache
 * consists of blocks that all layers of a group fill together, a page each, and every group takes
 * blocks from the same pool. All blocks are of one size. Where layers are of several kinds (all
 * tokens, a window, a state), groups have equally many layers, with padding layers in the last, and
 * pages are as large as those of the largest layer: smaller ones take more tokens. */
#pragma once

#include "ledger/infer.h"

/* Does the engine group the layers of `cache`, and is it known how? */
bool al_cache_is_grouped(const struct al_engine *engine, const struct al_cache_entries *cache);

/* Groups the layers of `cache`, sets the tokens that each line of it holds, and its groups. */
bool al_cache_group(struct al_ledger *ledger, const struct al_engine_scope *scope,
	int64_t source_seq, struct al_cache_entries *cache, struct al_error *err) AL_MUST_CHECK;
