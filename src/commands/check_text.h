/* A check on a terminal: each claim in its own lines, what is not reproduced first. */
#ifndef ATTNLEDGER_COMMANDS_CHECK_TEXT_H
#define ATTNLEDGER_COMMANDS_CHECK_TEXT_H

#include "base/table.h"
#include "report/report.h"

/* The claims of a check's table, then its notes, the first of them, which holds the counts, last.
 * The text lives in the arena. */
const char *al_check_text(struct al_arena *arena, const struct al_style *style,
	const struct al_table *table);

#endif
