/* One turn of a family's loops: its variables' values stand before the settings. */
#ifndef ATTNLEDGER_CATALOG_TURN_H
#define ATTNLEDGER_CATALOG_TURN_H

#include "catalog/family.h"

struct al_turn {
	struct al_settings *settings;
	const char *variables[AL_FAMILY_LOOPS];
	int64_t values[AL_FAMILY_LOOPS];
	size_t n;
};

/* The turn and its settings must outlive the scope. */
struct al_scope al_turn_scope(struct al_turn *turn);

/* "h.{layer}.attn" -> "h.3.attn" */
const char *al_turn_name(const struct al_turn *turn, struct al_arena *arena, const char *name);

#endif
