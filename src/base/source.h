/* Sources: a regular file read at any place, in blocks, without a mapping: memory stays bounded,
 * and a file that shrinks while it is read is an error, not a SIGBUS. */
#ifndef ATTNLEDGER_BASE_SOURCE_H
#define ATTNLEDGER_BASE_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

enum { AL_BLOCK_BYTES = 512 * 1024 };

struct al_source {
	const char *path; /* the caller's; it outlives the source */
	int fd; /* -1: closed, or parked */
	uint64_t bytes; /* when it was opened */
	dev_t device; /* which file it was */
	ino_t inode;
	struct timespec modified; /* when it was opened */
};

/* Opens a regular file. A directory, a pipe or a device gets its own message; on failure nothing is
 * left to close. */
bool al_source_open(struct al_source *source, const char *path, struct al_error *err) AL_MUST_CHECK;
void al_source_close(struct al_source *source);

/* Gives the descriptor back: each read opens the file again, and refuses another one in its place.
 * For more files than a process may have open. */
void al_source_park(struct al_source *source);

/* Reads exactly `length` bytes; the file position is not used, so several threads may read at
 * once. */
bool al_source_read(const struct al_source *source, uint64_t offset, void *out, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* Fails with AL_ESYSTEM where the path is now another file, or the file's size or time of
 * modification isn't what it was when it was opened. */
bool al_source_check_unchanged(const struct al_source *source, struct al_error *err) AL_MUST_CHECK;

#endif
