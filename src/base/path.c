/* Paths: joined, and without links. */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

const char *al_path_join(struct al_arena *arena, const char *folder, const char *name)
{
	const size_t length = strlen(folder);
	const bool ends = length > 0 && folder[length - 1] == '/';

	return al_format(arena, ends ? "%s%s" : "%s/%s", folder, name);
}

enum { MOST_LINKS = 40 };

/* A path that is followed name by name. */
struct walk {
	struct al_text at; /* the way so far: no link in it */
	char *rest;
};

static void cut(struct al_text *path, size_t length)
{
	path->data[path->length = length] = '\0';
}

/* Where the last name of the way begins. */
static size_t last_name(const struct al_text *way)
{
	const char *slash = strrchr(way->data, '/');

	return slash ? (size_t)(slash - way->data) + 1 : 0;
}

static void enter(struct walk *walk, const char *name, size_t length)
{
	if (walk->at.length > 0 && walk->at.data[walk->at.length - 1] != '/')
		al_text_add(&walk->at, "/");
	al_text_add_bytes(&walk->at, name, length);
}

/* To the folder above; a relative way may begin with several. */
static void leave(struct walk *walk)
{
	size_t begin = last_name(&walk->at);

	if (strcmp(walk->at.data, "/") == 0)
		return;
	if (walk->at.length == 0 || strcmp(walk->at.data + begin, "..") == 0)
		enter(walk, "..", 2);
	else
		cut(&walk->at, begin > 1 ? begin - 1 : begin);
}

static void begin(struct walk *walk, char *rest)
{
	cut(&walk->at, 0);
	if (rest[0] == '/')
		al_text_add(&walk->at, "/");
	free(walk->rest);
	walk->rest = rest;
}

/* Where the way ends at a link, the walk begins again with the link's text before the rest. */
static bool follow_link(struct walk *walk)
{
	char link[PATH_MAX];
	ssize_t n = readlink(walk->at.data, link, sizeof(link) - 1);
	struct al_text rest;

	if (n < 0)
		return false;
	link[n] = '\0';
	cut(&walk->at, link[0] == '/' ? 0 : last_name(&walk->at));
	al_text_init(&rest);
	al_text_addf(&rest, "%s%s/%s", walk->at.data, link, walk->rest);
	begin(walk, rest.data);
	return true;
}

static bool follow(struct walk *walk)
{
	int n_links = 0;

	while (*walk->rest) {
		char *name = walk->rest + strspn(walk->rest, "/");
		size_t length = strcspn(name, "/");
		bool is_here = length == 0 || (length == 1 && name[0] == '.');
		bool is_above = length == 2 && name[0] == '.' && name[1] == '.';
		if (is_above)
			leave(walk);
		else if (!is_here)
			enter(walk, name, length);
		memmove(walk->rest, name + length, strlen(name + length) + 1);
		if (!is_above && !is_here && follow_link(walk) && ++n_links > MOST_LINKS) {
			errno = ELOOP;
			return false;
		}
	}
	return true;
}

char *al_path_follow(const char *path)
{
	struct walk walk = {.rest = NULL};

	al_text_init(&walk.at);
	begin(&walk, al_text_copy(path));
	bool ok = follow(&walk);
	if (ok && walk.at.length == 0)
		al_text_add(&walk.at, ".");
	free(walk.rest);
	if (ok)
		return walk.at.data;
	al_text_finish(&walk.at);
	return NULL;
}

char *al_path_identity(const char *path)
{
	char folder[PATH_MAX];
	struct al_text whole;

	al_text_init(&whole);
	if (path[0] != '/' && getcwd(folder, sizeof(folder)))
		al_text_addf(&whole, "%s/", folder);
	al_text_add(&whole, path);
	char *followed = al_path_follow(whole.data);
	if (!followed)
		return whole.data;
	al_text_finish(&whole);
	return followed;
}
