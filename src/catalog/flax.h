/* A family's tensors as Flax names and lays them. */
#ifndef ATTNLEDGER_CATALOG_FLAX_H
#define ATTNLEDGER_CATALOG_FLAX_H

#include "catalog/family.h"

/* What stands between the parts of a Flax kernel's name, "/" or "."; 0: it isn't such a name. */
char al_flax_separator(const char *name);

/* The family under Flax's names, with `separator` between their parts and matrices turned; what is
 * new of it is in the arena. */
bool al_family_in_flax(const struct al_family *family, struct al_catalog *catalog,
	struct al_arena *arena, char separator, const struct al_family **out,
	struct al_error *err) AL_MUST_CHECK;

#endif
