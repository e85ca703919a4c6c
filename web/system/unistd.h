/* What WASI lacks. */
#pragma once

#include_next <unistd.h>

static inline int dup(int file)
{
	(void)file;
	return -1;
}

static inline int pause(void)
{
	return -1;
}
