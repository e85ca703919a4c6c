/* Temporary files and folders next to their targets.
 *
 * A program holds a lock on a temporary file as long as it has it open: one whose lock is free was
 * left by a program that was killed. Locks hold on one machine at least: the name contains the
 * machine's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* A name to be, in the folder of `path`. */
char *al_temporary_name(struct al_arena *arena, const char *path);

/* Makes the file, or the folder, and puts its name into `name`. Returns it open, a file for reading
 * and writing; -1 and errno: it can't be made. */
int al_temporary_make(char *name, bool is_folder);

/* Writes to an open file from byte `at` on; -1: behind what was written. False and errno: not all
 * could be written. */
bool al_temporary_write(int file, int64_t at, const void *bytes, size_t length) AL_MUST_CHECK;

/* Removes from the folder of `path` what killed programs of this machine left. Where locks can't be
 * had, nothing is. */
void al_temporary_tidy(const char *path);
