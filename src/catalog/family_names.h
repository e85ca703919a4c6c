/* The names of a built-in family's tensors, without parsing its file. */
#ifndef ATTNLEDGER_CATALOG_FAMILY_NAMES_H
#define ATTNLEDGER_CATALOG_FAMILY_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* `name` is `length` bytes, with {layer} and the like as they stand and without what a composed
 * family puts before it. A module's tensor is_stored. */
typedef void al_see_name(void *context, const char *name, size_t length, bool is_stored);

/* Everything that the family's file, and those of its components, call "name": each tensor is among
 * it. */
void al_family_each_name(const char *family, al_see_name *see, void *context);

#endif
