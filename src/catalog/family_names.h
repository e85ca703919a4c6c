/* The names of families' tensors, without reading the families. */
#pragma once

#include "base/base.h"

/* What bears a name: a tensor of a module, one that the family lists outside its modules, or
 * something else. */
enum al_name_bearer { AL_NAME_OTHER, AL_NAME_STORED, AL_NAME_TENSOR };

/* With {layer} and the like unexpanded and without what a composed family puts before it. */
struct al_family_name {
	const char *text;
	enum al_name_bearer bearer;
};

/* The modules and tensors that a family's file, and those of its components, have. */
struct al_family_names {
	struct al_family_name *items;
	size_t n, room;
};

/* Of each of the built-in families, in their order; the catalog's. */
struct al_catalog;
const struct al_family_names *al_catalog_family_names(struct al_catalog *catalog);
