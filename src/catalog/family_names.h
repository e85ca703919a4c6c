/* The names of a family's tensors, without reading the family. */
#pragma once

#include "base/base.h"

/* What bears a name: a tensor of a module, one that the family lists outside its modules, or
 * something else. */
enum al_name_bearer { AL_NAME_OTHER, AL_NAME_STORED, AL_NAME_TENSOR };

/* `name` is `length` bytes, with {layer} and the like unexpanded and without what a composed
 * family puts before it. */
typedef void al_see_name(void *context, const char *name, size_t length,
	enum al_name_bearer bearer);

/* The modules and tensors that the family's file, and those of its components, have. */
struct al_catalog;
void al_family_each_name(struct al_catalog *catalog, const char *family, al_see_name *see,
	void *context);
