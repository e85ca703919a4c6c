/* Tables of an audit's page that are put together from the audit's own. */
#ifndef ATTNLEDGER_PAGE_AUDIT_PARTS_H
#define ATTNLEDGER_PAGE_AUDIT_PARTS_H

#include "report/page/audit.h"

/* A row each square of the head map, in its order: the head's numbers and its neighbours. */
void al_page_map_table(struct al_table *out, const struct al_page_heads *heads);

/* Heads to do without, by the error with all before. */
void al_page_steps_table(struct al_table *out, const struct al_table *redundant);

/* The rows on the frontier, numbered as the circles are. */
void al_page_frontier_table(struct al_table *out, const struct al_page_points *points);

#endif
