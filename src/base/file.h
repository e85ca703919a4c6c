/* Files: whole files in, whole files out. */
#ifndef ATTNLEDGER_BASE_FILE_H
#define ATTNLEDGER_BASE_FILE_H

#include <stddef.h>

#include "base/arena.h"

struct al_text;

/* Reads a regular file of at most `limit` bytes in blocks. A directory, a pipe, a device or a
 * larger file gets its own message; on failure nothing is left to finish. */
bool al_file_read(struct al_text *out, const char *path, size_t limit,
	struct al_error *err) AL_MUST_CHECK;

/* Writes a file whole or not at all: to a temporary name beside the target, synced and renamed,
 * keeping an existing file's mode and following symbolic links; a device or a pipe is written
 * directly (base/output.h, which also says what signals do). */
bool al_file_write(const char *path, const void *bytes, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* "FOLDER/NAME", in the arena; a slash that ends the folder is the one between. */
const char *al_path_join(struct al_arena *arena, const char *folder, const char *name);

/* Makes a folder and its parents where they are missing. */
bool al_folder_make(const char *path, struct al_error *err) AL_MUST_CHECK;

#endif
