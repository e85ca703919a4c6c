/* Somebody who watches long work, and may end it. */
#pragma once

#include "base/error.h"

struct al_watch {
	/* Before each step, with its name, after `done` of `n` equal steps (n 0: unknown). False:
	 * the work ends. */
	bool (*show)(void *context, const char *part, size_t done, size_t n);
	void *context;
};

/* False, and AL_ECANCELLED, where the watcher ends the work; `watch` may be NULL. */
AL_MUST_CHECK static inline bool al_watch_show(const struct al_watch *watch, const char *part,
	size_t done, size_t n, struct al_error *err)
{
	return !watch || !watch->show || watch->show(watch->context, part, done, n)
		|| al_fail(err, AL_ECANCELLED, "cancelled");
}
