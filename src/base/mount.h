/* Files in memory (file.c) that a thread reads and writes in place of the system's: those that a
 * caller of the library gives to a question, and those that its answer writes.
 *
 * What has a mounted name is read from memory, and a mounted folder hides the system's of that
 * name; all that is written while a mount is set stays in it. The program sets none. */
#pragma once

#include "base/text.h"

struct al_extent {
	const void *bytes;
	size_t length;
};

struct al_mounted {
	const char *path; /* NULL: it was abandoned */
	struct al_extent *pieces; /* one after the other; of what was written there is one */
	size_t n_pieces, pieces_room;
	uint64_t bytes;
	struct al_text content; /* of what is written; data NULL: given */
	bool hides_folder; /* no file, but a folder, of which nothing is the system's */
};

struct al_mount {
	struct al_arena arena;
	struct al_mounted **items;
	size_t n, room;
};

void al_mount_init(struct al_mount *mount);
void al_mount_finish(struct al_mount *mount);

/* Sets the calling thread's mount until it sets another; NULL: none. */
void al_mount_set(struct al_mount *mount);
struct al_mount *al_mount_now(void);

/* A new file, or folder; the path is copied without slashes at its end. */
struct al_mounted *al_mount_add(struct al_mount *mount, const char *path);
/* The caller's bytes, which outlive the mount. */
void al_mounted_add(struct al_mount *mount, struct al_mounted *file, const void *bytes,
	size_t length);

/* The file of that path in the thread's mount; NULL: none. */
struct al_mounted *al_mount_find(const char *path);
/* Is something in the folder of that path? Is the path in a folder that hides the system's? */
bool al_mount_has_folder(const char *path);
bool al_mount_hides(const char *path);

/* The next item in the folder after number *i, and its name there; NULL: no more. */
const char *al_mount_next(const char *folder, size_t *i);

/* [offset, offset + length), which are within the file. */
void al_mounted_read(const struct al_mounted *file, uint64_t offset, void *out, size_t length);
