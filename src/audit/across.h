/* Pairs of heads of different modules: how alike they are, and how much a later head reads of what
 * an earlier one writes. Two modules are in memory at a time. */
#ifndef ATTNLEDGER_AUDIT_ACROSS_H
#define ATTNLEDGER_AUDIT_ACROSS_H

#include "audit/audit.h"

void al_across_add_columns(struct al_table *table);

/* Adds the most similar pairs of heads of different modules, the most similar first:
 * options.n_pairs of them, 0 for all. Only so many are kept while it runs. Modules whose forms have
 * other sizes are not compared. `show`, which may be NULL, is told the module that is at work. */
bool al_across_measure(const struct al_audit *audit, const struct al_attention *const *modules,
	size_t n_modules, void (*show)(void *context, const char *module), void *context,
	struct al_table *table, struct al_error *err) AL_MUST_CHECK;

#endif
