/* Files in memory in place of the system's. */
#include "base/mount.h"

#include "base/base.h"

static _Thread_local struct al_mount *current;

void al_mount_init(struct al_mount *mount)
{
	*mount = (struct al_mount){0};
	al_arena_init(&mount->arena);
}

void al_mount_finish(struct al_mount *mount)
{
	for (size_t i = 0; i < mount->n; i++)
		al_text_finish(&mount->items[i]->content);
	al_arena_finish(&mount->arena);
}

void al_mount_set(struct al_mount *mount)
{
	current = mount;
}

struct al_mount *al_mount_now(void)
{
	return current;
}

/* Slashes at the end don't count. */
static size_t path_length(const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	return length;
}

struct al_mounted *al_mount_add(struct al_mount *mount, const char *path)
{
	struct al_mounted *file = al_new(&mount->arena, struct al_mounted);

	file->path = al_strndup(&mount->arena, path, path_length(path));
	*AL_APPEND(&mount->arena, mount->items, mount->n, mount->room) = file;
	return file;
}

void al_mounted_add(struct al_mount *mount, struct al_mounted *file, const void *bytes,
	size_t length)
{
	*AL_APPEND(&mount->arena, file->pieces, file->n_pieces,
		file->pieces_room) = (struct al_extent){bytes, length};
	file->bytes += length;
}

/* ---- looking ---- */

struct al_mounted *al_mount_find(const char *path)
{
	for (size_t i = 0; current && i < current->n; i++) {
		struct al_mounted *file = current->items[i];
		if (file->path && !file->hides_folder && strcmp(file->path, path) == 0)
			return file;
	}
	return NULL;
}

/* What is after "FOLDER/" in a path; NULL: it is elsewhere. */
static const char *name_in(const char *folder, const char *path)
{
	const size_t length = path_length(folder);

	return path && strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1
										 : NULL;
}

const char *al_mount_next(const char *folder, size_t *i)
{
	while (current && *i < current->n) {
		const char *name = name_in(folder, current->items[(*i)++]->path);
		if (name)
			return name;
	}
	return NULL;
}

bool al_mount_has_folder(const char *path)
{
	size_t i = 0;

	return al_mount_next(path, &i);
}

bool al_mount_hides(const char *path)
{
	for (size_t i = 0; current && i < current->n; i++)
		if (current->items[i]->hides_folder && name_in(current->items[i]->path, path))
			return true;
	return false;
}

/* ---- reading ---- */

void al_mounted_read(const struct al_mounted *file, uint64_t offset, void *out, size_t length)
{
	char *to = out;

	for (const struct al_extent *piece = file->pieces; length > 0; piece++) {
		if (offset >= piece->length) {
			offset -= piece->length;
			continue;
		}
		const size_t left = piece->length - (size_t)offset;
		const size_t now = length < left ? length : left;
		memcpy(to, (const char *)piece->bytes + offset, now);
		to += now;
		length -= now;
		offset = 0;
	}
}
