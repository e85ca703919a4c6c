/* Room is asked for and given back; there are no mappings. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

enum { PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32, MAP_NORESERVE = 0 };
#define MAP_FAILED ((void *)-1)

static inline void *mmap(void *at, size_t bytes, int protection, int flags, int file, long offset)
{
	(void)at;
	(void)protection;
	(void)flags;
	(void)file;
	(void)offset;
	void *room = malloc(bytes);
	return room ? room : MAP_FAILED;
}

static inline int munmap(void *room, size_t bytes)
{
	(void)bytes;
	free(room);
	return 0;
}
