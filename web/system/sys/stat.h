/* WASI's files have no modes. */
#pragma once

#include_next <sys/stat.h>

int fchmod(int file, mode_t mode);

static inline mode_t umask(mode_t mask)
{
	(void)mask;
	return 0;
}
