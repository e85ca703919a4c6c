/* Paths: joined, and without links. */
#ifndef ATTNLEDGER_BASE_PATH_H
#define ATTNLEDGER_BASE_PATH_H

#include "base/arena.h"

/* "FOLDER/NAME", in the arena; a slash that ends the folder is the one between. */
const char *al_path_join(struct al_arena *arena, const char *folder, const char *name);

/* The path with "." and ".." taken out and every symbolic link followed, of what is there and of
 * what isn't yet; as absolute or relative as the given one. From the heap; NULL, and errno: links
 * go in a circle. */
char *al_path_follow(const char *path);

/* The same from the root on, so that two names of one file are alike. A path that can't be followed
 * stays as it is. */
char *al_path_identity(const char *path);

#endif
