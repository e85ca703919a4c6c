/* What `cache` says of its table. */
#ifndef ATTNLEDGER_COMMANDS_CACHE_H
#define ATTNLEDGER_COMMANDS_CACHE_H

#include <stdint.h>

#include "base/table.h"

/* Beside the table; of one subject, where there are several of the last. */
struct al_cache_facts {
	const char *covered; /* "Llama 3 8B" */
	const char *dtype; /* "bf16" */
	const char *engine; /* "vLLM"; "": the least that must be held */
	int64_t batch, seq; /* seq 0: not given */
};

/* NULL: nothing is known. */
const char *al_cache_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_cache_facts *facts);

#endif
