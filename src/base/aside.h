/* Bytes that wait in a file without a name, where they are too many to stay in memory. */
#ifndef ATTNLEDGER_BASE_ASIDE_H
#define ATTNLEDGER_BASE_ASIDE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct al_aside {
	char *folder; /* where the file lies, for messages; NULL: none is open */
	int fd;
	uint64_t bytes;
};

/* The file lies beside `path`; it is gone when it is closed, however the program ends. */
bool al_aside_open(struct al_aside *aside, const char *path, struct al_error *err) AL_MUST_CHECK;
void al_aside_close(struct al_aside *aside); /* one that is all zeros, too */

/* `at` is where the bytes are to be found. */
bool al_aside_put(struct al_aside *aside, const void *bytes, size_t length, uint64_t *at,
	struct al_error *err) AL_MUST_CHECK;
/* The same where the caller says. */
bool al_aside_put_at(const struct al_aside *aside, uint64_t at, const void *bytes, size_t length,
	struct al_error *err) AL_MUST_CHECK;
bool al_aside_get(const struct al_aside *aside, uint64_t at, void *out, size_t length,
	struct al_error *err) AL_MUST_CHECK;

#endif
