/* The files that a program has read and written. */
#include "base/overwrite.h"

#include <sys/stat.h>

#include "base/arena.h"

static struct {
	bool is_on;
	struct al_arena arena;
	struct file {
		dev_t device;
		ino_t inode;
		enum al_was was;
	} * items;
	size_t n, room;
} known;

void al_overwrite_begin(void)
{
	al_arena_init(&known.arena);
	known.is_on = true;
}

void al_overwrite_end(void)
{
	al_arena_finish(&known.arena);
	known.is_on = false;
	known.items = NULL;
	known.n = known.room = 0;
}

void al_overwrite_add(dev_t device, ino_t inode, enum al_was was)
{
	if (!known.is_on)
		return;
	known.items = al_grow(&known.arena, known.items, known.n, &known.room,
		sizeof(*known.items));
	known.items[known.n++] = (struct file){device, inode, was};
}

bool al_overwrite_check(const char *path, struct al_error *err)
{
	struct stat info;

	if (known.n == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
		return true;
	for (const struct file *file = known.items; file < known.items + known.n; file++)
		if (file->device == info.st_dev && file->inode == info.st_ino)
			return al_fail(err, AL_EINPUT,
				file->was == AL_WAS_WRITTEN
					? "%s: would be written twice, expected two names"
					: "%s: is a file of the input, expected another one",
				path);
	return true;
}
