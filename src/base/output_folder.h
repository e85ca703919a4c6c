/* Folders of outputs: a folder that appears with all its files or not at all.
 *
 * The files are written in a temporary folder beside the target, which is renamed at the end. The
 * target must be new, or an empty folder: one that holds something can't be replaced in one step.
 * What is said of signals in base/output.h holds of the folder and its files. */
#ifndef ATTNLEDGER_BASE_OUTPUT_FOLDER_H
#define ATTNLEDGER_BASE_OUTPUT_FOLDER_H

#include <stddef.h>

#include "base/error.h"

struct al_output_folder;

/* `names` are those of all files to come, each once. */
bool al_output_folder_open(struct al_output_folder **out, const char *path,
	const char *const *names, size_t n, struct al_error *err) AL_MUST_CHECK;

/* Where file number i is to be written. */
const char *al_output_folder_file(const struct al_output_folder *folder, size_t i);

/* Where the folder lies until it is put in its place, to be read. */
const char *al_output_folder_written(const struct al_output_folder *folder);

/* Puts the folder in its place. It is gone afterwards, on failure too. */
bool al_output_folder_commit(struct al_output_folder *folder, struct al_error *err) AL_MUST_CHECK;

/* Removes what was written. It is gone afterwards; NULL is safe. */
void al_output_folder_abandon(struct al_output_folder *folder);

#endif
