/* The files that a program has read and written: what it has read it doesn't write over, and what
 * it has written it doesn't write again. Files are told apart by device and inode. Nothing is
 * followed before al_touched_begin: a library leaves that to the program that it is part of. Called
 * from one thread at a time. */
#ifndef ATTNLEDGER_BASE_TOUCHED_H
#define ATTNLEDGER_BASE_TOUCHED_H

#include <sys/types.h>

#include "base/error.h"

void al_touched_begin(void);
void al_touched_end(void);

enum al_touch {
	AL_TOUCH_READ,
	AL_TOUCH_WRITTEN,
};

void al_touched_add(dev_t device, ino_t inode, enum al_touch touch);

/* May the path be written? AL_EINPUT where its file was read or written. */
bool al_touched_check(const char *path, struct al_error *err) AL_MUST_CHECK;

/* The same of all that will be written, each of which must be another file. */
bool al_touched_check_all(const char *const *paths, size_t n, struct al_error *err) AL_MUST_CHECK;

#endif
