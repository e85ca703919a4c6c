/* How many sequences the memory for a cache holds, and what the engine's log prints of it. */
#pragma once

#include "answer/memory.h"

struct al_capacity {
	mpq_srcptr memory; /* for the cache, on one device */
	int64_t blocks; /* in that memory */
	int64_t seq, blocks_of_request; /* of what is asked for */
	int64_t longest, blocks_of_longest; /* what it is started for, as its log counts it */
	int64_t blocks_needed; /* for that */
	int64_t tokens; /* that the log prints */
	mpq_srcptr host; /* memory of the host for what devices offload; NULL: none */
	int64_t host_tokens; /* of what the engine is started for */
};

/* --kv-offloading-size */
extern const struct al_option_row al_capacity_rows[];

/* Does the engine's log print such a line? */
bool al_capacity_is_known(const struct al_request *request);

/* Refuses --kv-offloading-size where the engine offloads no blocks, or none are known. */
bool al_capacity_check(const struct al_request *request, struct al_error *err) AL_MUST_CHECK;

/* What the memory holds of sequences of inference->seq tokens. */
bool al_capacity_find(struct al_ledger *ledger, struct al_request *request,
	const struct al_inference *inference, mpq_srcptr memory, struct al_capacity *out,
	struct al_error *err) AL_MUST_CHECK;

/* Memory for the cache: what weights, activations and the engine itself leave of `budget`. */
bool al_capacity_left(struct al_ledger *ledger, struct al_request *request,
	const struct al_inference *inference, mpq_srcptr budget, mpq_t out,
	struct al_error *err) AL_MUST_CHECK;

/* " For its cache of 64.68 GiB, vLLM 0.33 logs: GPU KV cache size: 626,949 tokens; ..." */
const char *al_capacity_say(struct al_arena *arena, const struct al_request *request,
	const struct al_capacity *capacity);
