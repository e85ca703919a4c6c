/* Files: a regular file read at any place, whole files in and out, and what a program has read and
 * written. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"

struct al_mounted;
struct al_text;

/* ---- sources: read in blocks, so that memory stays bounded, and that a file which shrinks while
 * it is read is an error, not a SIGBUS ---- */

enum { AL_BLOCK_BYTES = 512 * 1024 };

struct al_source {
	const char *path; /* the caller's; it outlives the source */
	int fd; /* -1: closed */
	const struct al_mounted *mounted; /* its bytes are in memory; NULL: on disk */
	uint64_t bytes; /* when it was opened */
	dev_t device; /* which file it was */
	ino_t inode;
	struct timespec modified; /* when it was opened */
};

/* Opens a regular file. A directory, a pipe or a device gets its own message; on failure nothing is
 * left to close. */
bool al_source_open(struct al_source *source, const char *path, struct al_error *err) AL_MUST_CHECK;

/* Gives the descriptor back. Who reads from a closed source opens the file again for each read, and
 * refuses another one in its place: for more files than a process may have open. */
void al_source_close(struct al_source *source);

/* Reads exactly `length` bytes; the file position is not used, so several threads may read at
 * once. */
bool al_source_read(const struct al_source *source, uint64_t offset, void *out, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* Fails with AL_ESYSTEM where the path is now another file, or the file's size or time of
 * modification isn't what it was when it was opened. */
bool al_source_check_unchanged(const struct al_source *source, struct al_error *err) AL_MUST_CHECK;

/* ---- whole files ---- */

/* Reads a regular file of at most `limit` bytes into an empty text (AL_TEXT). A directory, a pipe,
 * a device or a larger file gets its own message. */
bool al_file_read(struct al_text *out, const char *path, size_t limit,
	struct al_error *err) AL_MUST_CHECK;

/* The same of a file that the caller's user named, which may be a pipe: all that comes. A pipe that
 * nobody writes to is empty. */
bool al_file_read_stream(struct al_text *out, const char *path, size_t limit,
	struct al_error *err) AL_MUST_CHECK;

/* "FOLDER/NAME", in the arena; a slash that ends the folder is the one between. */
const char *al_path_join(struct al_arena *arena, const char *folder, const char *name);

/* What a path leads to. */
enum al_path_kind {
	AL_PATH_NONE,
	AL_PATH_FILE,
	AL_PATH_FOLDER,
	AL_PATH_OTHER, /* a device, a pipe, a link to nothing */
};
enum al_path_kind al_path_kind(const char *path);

/* The names in a folder, [*n], in no order. */
bool al_folder_list(struct al_arena *arena, const char *path, const char ***names, size_t *n,
	struct al_error *err) AL_MUST_CHECK;

/* Makes a folder and its parents where they are missing. */
bool al_folder_make(const char *path, struct al_error *err) AL_MUST_CHECK;

/* ---- what the program has read and written ---- What it has read it doesn't write over, and what
 * it has written it doesn't write again. Files are identified by device and inode; devices and
 * pipes may be read and written at will. Nothing is followed before al_overwrite_begin: a library
 * leaves that to the program that it is part of. Called from one thread at a time. */

void al_overwrite_begin(void);
void al_overwrite_end(void);

enum al_was {
	AL_WAS_READ,
	AL_WAS_WRITTEN,
};

void al_overwrite_add(dev_t device, ino_t inode, enum al_was was);

/* May the path be written? AL_EINPUT where its file was read or written. */
bool al_overwrite_check(const char *path, struct al_error *err) AL_MUST_CHECK;
