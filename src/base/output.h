/* Outputs: files and folders that appear whole or not at all.
 *
 * A file is written piece by piece to a temporary name next to the target, which is synced and
 * renamed at the end; an existing file's mode is kept and symbolic links are followed. A device or
 * a pipe is written directly. A folder's files are written in a temporary folder next to the
 * target, which must be new, or empty: one that holds something can't be replaced in one step.
 *
 * While an output is open, SIGINT, SIGTERM and SIGHUP (unless the program handles or ignores them)
 * remove what is temporary and then end the program as they would have: that needs handlers, the
 * one thing that the library keeps outside of what its callers own. They are put back when no
 * output is open any more. Outputs are opened and closed from one thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct al_output;

/* A device or a pipe: written directly, not replaced. */
bool al_output_is_direct(const char *path);

/* Refuses a file that the program has read or written (base/file.h). */
bool al_output_open(struct al_output **out, const char *path, struct al_error *err) AL_MUST_CHECK;

/* For work that goes on where the program was ended: what is temporary is `path`.unfinished, and of
 * one that is there the first `kept` bytes stay. Refused where another process has it open, or
 * where it is shorter. Once it is kept, and from the beginning where `kept` isn't 0, neither a
 * signal nor al_output_abandon removes it. */
bool al_output_open_kept(struct al_output **out, const char *path, uint64_t kept,
	struct al_error *err) AL_MUST_CHECK;
bool al_output_keep(struct al_output *output, struct al_error *err) AL_MUST_CHECK;

/* `names` are those of all files to come, each once. */
bool al_output_open_folder(struct al_output **out, const char *path, const char *const *names,
	size_t n, struct al_error *err) AL_MUST_CHECK;

bool al_output_append(struct al_output *output, const void *bytes, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* Where file number i of a folder is to be written. */
const char *al_output_file(const struct al_output *output, size_t i);

/* Where the file or the folder lies until it is put in its place, to be read; NULL: it is written
 * directly. */
const char *al_output_written(const struct al_output *output);

/* Puts it in its place. The output is gone afterwards, on failure too. */
bool al_output_commit(struct al_output *output, struct al_error *err) AL_MUST_CHECK;

/* Leaves everything as it was. The output is gone afterwards; NULL is safe. */
void al_output_abandon(struct al_output *output);

/* Removes all that is temporary: for a signal's handler too. */
void al_output_remove_all(void);

/* Writes a file whole or not at all, as an output is. */
bool al_file_write(const char *path, const void *bytes, size_t length,
	struct al_error *err) AL_MUST_CHECK;
