/* Files that the build puts into the binary (tools/embed.c writes the lists). */
#pragma once

#include <stddef.h>

struct al_embedded {
	const char *name; /* the file's name without its ending: "mhe-mul" */
	const char *text; /* NUL-terminated */
	size_t length;
};

struct al_embedded_list {
	const char *folder; /* "variants" */
	const struct al_embedded *files; /* sorted by name */
	size_t n_files;
};

/* The file of that name, or NULL. (text.c) */
const struct al_embedded *al_embedded_find(const struct al_embedded_list *list, const char *name);
