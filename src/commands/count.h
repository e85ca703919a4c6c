/* What `count` says of its table. */
#ifndef ATTNLEDGER_COMMANDS_COUNT_H
#define ATTNLEDGER_COMMANDS_COUNT_H

#include "base/table.h"
#include "ledger/basis.h"

/* Beside the table; of one subject, where there are several of the last. */
struct al_count_facts {
	const char *covered; /* "Llama 3 8B", "the attention in GPT-3 175B" */
	const char *components; /* "vision": only these parts of it; "": all */
	bool is_model; /* with all its parts, not attention alone */
	bool is_stored; /* stored numbers instead of parameters */
	mpq_t active, tied;
	enum al_output_projection projection;
};

/* NULL: the table has no total that is known. */
const char *al_count_say(struct al_arena *arena, const struct al_table *table,
	const struct al_count_facts *facts);

#endif
