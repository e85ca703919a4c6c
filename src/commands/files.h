/* Files that are written together: all are rendered before the first one is. */
#ifndef ATTNLEDGER_COMMANDS_FILES_H
#define ATTNLEDGER_COMMANDS_FILES_H

#include "base/arena.h"
#include "base/text.h"

struct files {
	struct al_arena arena;
	struct file {
		const char *folder, *path;
		struct al_text content;
	} * items;
	size_t n, room;
};

void files_init(struct files *files);
void files_finish(struct files *files);

/* A new file FOLDER/NAME.ENDING, empty: its content, valid until the next is added. */
struct al_text *files_add(struct files *files, const char *folder, const char *name,
	const char *ending);

/* Makes the folders and writes all. Where that fails, no file stays that wasn't there before. */
bool files_write(struct files *files, struct al_error *err) AL_MUST_CHECK;

#endif
