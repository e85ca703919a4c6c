/* Results in the order in which they were made, each of equally many bytes, in a file: the same
 * work, begun again after it was ended, takes them from there. */
#pragma once

#include "base/base.h"

struct al_kept {
	const char *path; /* the caller's; NULL: nothing is kept */
	int file;
	uint64_t of;
	size_t bytes; /* of a result, its padding set */
	bool is_found; /* an earlier run had begun the same work */
	size_t n, n_found, n_used; /* results in it; made by earlier runs; and taken from those */
};

/* `of`: a fingerprint of all that the results hang on; those of other work are dropped. The work
 * begins with its first result, or with al_kept_begin. On failure it may be closed, too. */
bool al_kept_open(struct al_kept *kept, const char *path, uint64_t of, size_t bytes,
	struct al_error *err) AL_MUST_CHECK;
/* The file stays unless it is empty or the work complete. Safe on a zeroed struct. */
void al_kept_close(struct al_kept *kept, bool is_complete);
/* To be called when the other files of the work are complete: a later run finds it begun. */
bool al_kept_begin(struct al_kept *kept, struct al_error *err) AL_MUST_CHECK;
/* False: it is to be made, and added. */
bool al_kept_next(struct al_kept *kept, void *out);
bool al_kept_add(struct al_kept *kept, const void *result, struct al_error *err) AL_MUST_CHECK;
