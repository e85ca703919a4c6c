/* The files that a program has read and written. */
#include "base/touched.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/path.h"

struct file {
	dev_t device;
	ino_t inode;
	enum al_touch touch;
};

static struct {
	bool is_on;
	struct al_arena arena;
	struct file *items;
	size_t n, room;
} touched;

void al_touched_begin(void)
{
	al_arena_init(&touched.arena);
	touched.is_on = true;
}

void al_touched_end(void)
{
	al_arena_finish(&touched.arena);
	touched.is_on = false;
	touched.items = NULL;
	touched.n = touched.room = 0;
}

void al_touched_add(dev_t device, ino_t inode, enum al_touch touch)
{
	if (!touched.is_on)
		return;
	touched.items = al_grow(&touched.arena, touched.items, touched.n, &touched.room,
		sizeof(*touched.items));
	touched.items[touched.n++] = (struct file){device, inode, touch};
}

static bool fail_twice(const char *path, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: would be written twice, expected two names", path);
}

/* Devices and pipes may be read and written at will. */
static bool find(const char *path, struct stat *info)
{
	return stat(path, info) == 0 && S_ISREG(info->st_mode);
}

bool al_touched_check(const char *path, struct al_error *err)
{
	struct stat info;

	if (touched.n == 0 || !find(path, &info))
		return true;
	for (size_t i = 0; i < touched.n; i++) {
		const struct file *file = &touched.items[i];
		if (file->device != info.st_dev || file->inode != info.st_ino)
			continue;
		if (file->touch == AL_TOUCH_WRITTEN)
			return fail_twice(path, err);
		return al_fail(err, AL_EINPUT, "%s: is a file of the input, expected another one",
			path);
	}
	return true;
}

/* ---- many ---- */

struct place {
	bool exists, is_direct;
	struct stat info;
	char *identity; /* of what isn't there yet */
};

static struct place find_place(const char *path)
{
	struct place place = {.exists = find(path, &place.info)};

	place.is_direct = !place.exists && al_output_is_direct(path);
	if (!place.exists)
		place.identity = al_path_identity(path);
	return place;
}

static bool is_same(const struct place *a, const struct place *b)
{
	if (a->exists && b->exists)
		return a->info.st_dev == b->info.st_dev && a->info.st_ino == b->info.st_ino;
	return !a->exists && !b->exists && !a->is_direct && strcmp(a->identity, b->identity) == 0;
}

bool al_touched_check_all(const char *const *paths, size_t n, struct al_error *err)
{
	struct place *places = al_calloc(n, sizeof(*places));
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++) {
		places[i] = find_place(paths[i]);
		ok = al_touched_check(paths[i], err);
		for (size_t k = 0; ok && k < i; k++)
			ok = !is_same(&places[k], &places[i]) || fail_twice(paths[i], err);
	}
	for (size_t i = 0; i < n; i++)
		free(places[i].identity);
	free(places);
	return ok;
}
