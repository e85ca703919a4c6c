/* Pairs of heads of different modules: how alike they are, and how much a later head reads of what
 * an earlier one writes. Two modules are in memory at a time. */
#pragma once

#include "audit/audit.h"

/* Adds the most similar pairs of heads of different modules, the most similar first:
 * options.n_pairs of them, 0 for all. Only so many are kept while it runs. Modules whose forms have
 * other sizes are not compared. `watch`, which may be NULL, gets the two that are compared. */
bool al_across_measure(const struct al_audit *audit, const struct al_attention *const *modules,
	size_t n_modules, const struct al_watch *watch, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;
