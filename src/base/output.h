/* Outputs: a file written piece by piece, whole or not at all.
 *
 * The pieces go to a temporary name beside the target, which is synced and renamed at the end; an
 * existing file's mode is kept and symbolic links are followed. A device or a pipe is written
 * directly. While an output is open, signals that end the program remove the temporary file first
 * (base/pending.h). Outputs are opened and closed from one thread at a time. */
#ifndef ATTNLEDGER_BASE_OUTPUT_H
#define ATTNLEDGER_BASE_OUTPUT_H

#include <stddef.h>

#include "base/error.h"

struct al_output;

/* A device or a pipe: written directly, not replaced. */
bool al_output_is_direct(const char *path);

bool al_output_open(struct al_output **out, const char *path, struct al_error *err) AL_MUST_CHECK;

bool al_output_append(struct al_output *output, const void *bytes, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* Where the file lies until it is put in its place, to be read; NULL: it is written directly. */
const char *al_output_written(const struct al_output *output);

/* Puts the file in its place. The output is gone afterwards, on failure too. */
bool al_output_commit(struct al_output *output, struct al_error *err) AL_MUST_CHECK;

/* Leaves the old file as it was. The output is gone afterwards; NULL is safe. */
void al_output_abandon(struct al_output *output);

#endif
