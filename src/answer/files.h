/* Files that are written together: all are rendered before the first one is. */
#pragma once

#include "base/base.h"
#include "base/spill.h"

/* Position of a file's part in the unnamed file. */
struct al_file_piece {
	uint64_t at;
	size_t bytes;
};

struct al_files {
	struct al_arena *arena;
	struct file {
		const char *folder, *path; /* folder: to be made; or NULL */
		struct al_text content;
		struct al_file_piece *pieces; /* in place of `content`, aside */
		size_t n_pieces, pieces_room;
	} * items;
	size_t n, room;
	struct al_spill aside;
};

void al_files_finish(struct al_files *files);

/* A new file, empty: its content, valid until the next is added. */
struct al_text *al_files_add_path(struct al_files *files, const char *path);

/* The same, FOLDER/NAME.ENDING; the folder is made. */
struct al_text *al_files_add(struct al_files *files, const char *folder, const char *name,
	const char *ending);

/* What was added under that name, valid until the next is; NULL: nothing. */
const struct al_text *al_files_find(struct al_files *files, const char *folder, const char *name,
	const char *ending);

/* The same of FOLDER/NAME, which is too large or one of too many to keep in memory: it waits in a
 * file without a name in the folder, which is made. What is put aside again follows what was. */
bool al_files_put_aside(struct al_files *files, const char *folder, const char *name,
	const struct al_text *content, struct al_error *err) AL_MUST_CHECK;

/* Makes the folders and writes all; none where two are one file, or one is a file of the input.
 * Where that fails, no file stays that wasn't there before. */
bool al_files_write(struct al_files *files, struct al_error *err) AL_MUST_CHECK;

/* "out/heads.csv"; of more than three "18 files, out/across.csv to out/summary.csv"; NULL: none. */
const char *al_files_text(struct al_files *files);
