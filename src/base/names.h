/* Names that are gathered for the message about an unknown one. */
#ifndef ATTNLEDGER_BASE_NAMES_H
#define ATTNLEDGER_BASE_NAMES_H

#include "base/arena.h"
#include "base/error.h"

struct al_names {
	struct al_arena arena;
	const char **items; /* the names are the caller's */
	size_t n, room;
};

void al_names_init(struct al_names *names);
void al_names_add(struct al_names *names, const char *name);
bool al_names_hold(const struct al_names *names, const char *name);
void al_names_finish(struct al_names *names);

/* Fails as al_fail_unknown does and finishes the names: for `return`. */
bool al_names_fail(struct al_names *names, const char *what, const char *name,
	struct al_error *err);

/* Is the name held? Fails as al_names_fail does if not. Finishes the names either way: for
 * `return`. */
bool al_names_check(struct al_names *names, const char *what, const char *name,
	struct al_error *err) AL_MUST_CHECK;

/* Fails as al_fail_unknown does: known are the names that are the items' first members. */
bool al_fail_unknown_item(struct al_error *err, const char *what, const char *name,
	const void *items, size_t n, size_t size);

#endif
