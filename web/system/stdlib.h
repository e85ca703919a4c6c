/* What WASI's C library lacks, and system.c has. */
#pragma once

#include_next <stdlib.h>

int mkstemp(char *name);
char *mkdtemp(char *name);
char *realpath(const char *path, char *resolved);
