/* What `sweep` says of its table. */
#ifndef ATTNLEDGER_COMMANDS_SWEEP_H
#define ATTNLEDGER_COMMANDS_SWEEP_H

#include "scenario/sweep.h"

/* Of the first measure; NULL: the rows were handed on. */
const char *al_sweep_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_ledger_sweep *sweep);

#endif
