/* The files that a program has read and written: what it has read it doesn't write over, and what
 * it has written it doesn't write again. Files are told apart by device and inode; devices and
 * pipes may be read and written at will. Nothing is followed before al_overwrite_begin: a library
 * leaves that to the program that it is part of. Called from one thread at a time. */
#ifndef ATTNLEDGER_BASE_OVERWRITE_H
#define ATTNLEDGER_BASE_OVERWRITE_H

#include <sys/types.h>

#include "base/error.h"

void al_overwrite_begin(void);
void al_overwrite_end(void);

enum al_was {
	AL_WAS_READ,
	AL_WAS_WRITTEN,
};

void al_overwrite_add(dev_t device, ino_t inode, enum al_was was);

/* May the path be written? AL_EINPUT where its file was read or written. */
bool al_overwrite_check(const char *path, struct al_error *err) AL_MUST_CHECK;

#endif
