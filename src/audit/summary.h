/* The summary: an audit in about ten lines, read off its finished tables. */
#ifndef ATTNLEDGER_AUDIT_SUMMARY_H
#define ATTNLEDGER_AUDIT_SUMMARY_H

#include "audit/audit.h"

/* Adds columns (item, value) and rows to an empty table. `tables` stand beside al_measurements; a
 * line is left out where the table that it is read off is NULL. */
void al_summary_fill(struct al_table *summary, const struct al_audit *audit,
	struct al_table *const *tables);

/* One row a conversion, over all modules: what it saves of all of them together, the largest error
 * of any. Columns are conversion's without module, parameters and groups. */
void al_summary_conversions(struct al_table *out, const struct al_table *conversion);

#endif
