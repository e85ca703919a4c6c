/* One iteration of a family's loops: loop variables shadow settings of the same name. */
#ifndef ATTNLEDGER_CATALOG_ITERATION_H
#define ATTNLEDGER_CATALOG_ITERATION_H

#include "catalog/family.h"

struct al_iteration {
	struct al_settings *settings;
	const char *variables[AL_FAMILY_LOOPS];
	int64_t values[AL_FAMILY_LOOPS];
	size_t n;
};

/* What the loops count in one of their iterations; `settings` may be NULL for names alone. */
struct al_iteration al_iteration_of(const struct al_loops *loops,
	const int64_t values[AL_FAMILY_LOOPS], struct al_settings *settings);

/* The iteration and its settings must outlive the scope. */
struct al_scope al_iteration_scope(struct al_iteration *iteration);

/* "h.{layer}.attn" -> "h.3.attn" */
const char *al_iteration_name(const struct al_iteration *iteration, struct al_arena *arena,
	const char *name);

#endif
