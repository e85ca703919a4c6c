/* Bytes that wait in a file without a name, where they are too many to stay in memory. */
#pragma once

#include "base/arena.h"
#include "base/file.h"

struct al_spill {
	bool is_open;
	struct al_arena arena;
	struct al_source source; /* its path, for messages, is that of the file's folder */
};

/* The file is next to `path`, or in the folder for temporary files (TMPDIR) where `path` is NULL
 * or a mount is set (mount.h); it is gone when it is closed, however the program ends. */
bool al_spill_open(struct al_spill *spill, const char *path, struct al_error *err) AL_MUST_CHECK;
void al_spill_close(struct al_spill *spill); /* one that is all zeros, too */

/* `at` is where the bytes are to be found. */
bool al_spill_put(struct al_spill *spill, const void *bytes, size_t length, uint64_t *at,
	struct al_error *err) AL_MUST_CHECK;
/* The same at a place that the caller gives. */
bool al_spill_put_at(const struct al_spill *spill, uint64_t at, const void *bytes, size_t length,
	struct al_error *err) AL_MUST_CHECK;
bool al_spill_get(const struct al_spill *spill, uint64_t at, void *out, size_t length,
	struct al_error *err) AL_MUST_CHECK;
