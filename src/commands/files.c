/* Files that are written together. */
#include "commands/files.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "base/touched.h"

void al_files_init(struct al_files *files)
{
	*files = (struct al_files){0};
	al_arena_init(&files->arena);
}

void al_files_finish(struct al_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		al_text_finish(&files->items[i].content);
	al_aside_close(&files->aside);
	al_arena_finish(&files->arena);
}

struct al_text *al_files_add_path(struct al_files *files, const char *path)
{
	files->items = al_grow(&files->arena, files->items, files->n, &files->room,
		sizeof(*files->items));
	struct file *file = &files->items[files->n++];
	*file = (struct file){.path = al_strdup(&files->arena, path)};
	al_text_init(&file->content);
	return &file->content;
}

static const char *path_in(struct al_arena *arena, const char *folder, const char *name,
	const char *ending)
{
	return al_format(arena, "%s/%s.%s", folder, name, ending);
}

struct al_text *al_files_add(struct al_files *files, const char *folder, const char *name,
	const char *ending)
{
	const char *path = path_in(&files->arena, folder, name, ending);
	struct al_text *content = al_files_add_path(files, path);

	files->items[files->n - 1].folder = al_strdup(&files->arena, folder);
	return content;
}

const struct al_text *al_files_find(const struct al_files *files, const char *folder,
	const char *name, const char *ending)
{
	struct al_arena arena;
	const struct al_text *found = NULL;

	al_arena_init(&arena);
	const char *path = path_in(&arena, folder, name, ending);
	for (size_t i = files->n; !found && i-- > 0;)
		if (strcmp(files->items[i].path, path) == 0)
			found = &files->items[i].content;
	al_arena_finish(&arena);
	return found;
}

/* ---- aside ---- */

bool al_files_put_aside(struct al_files *files, const char *folder, const char *name,
	const struct al_text *content, struct al_error *err)
{
	uint64_t at;

	if (!files->aside.folder
		&& (!al_folder_make(folder, err)
			|| !al_aside_open(&files->aside, al_format(&files->arena, "%s/", folder),
				err)))
		return false;
	if (!al_aside_put(&files->aside, content->data, content->length, &at, err))
		return false;
	al_files_add_path(files, al_path_join(&files->arena, folder, name));
	struct file *file = &files->items[files->n - 1];
	file->aside_at = at;
	file->aside_bytes = content->length;
	return true;
}

/* Back into memory, as long as it is written. */
static bool fetch(const struct al_files *files, struct file *file, struct al_error *err)
{
	al_text_add_repeated(&file->content, '\0', file->aside_bytes);
	return file->aside_bytes == 0
		|| al_aside_get(&files->aside, file->aside_at, file->content.data,
			file->aside_bytes, err);
}

/* ---- writing ---- */

static bool write_file(const struct al_files *files, struct file *file, struct al_error *err)
{
	if ((file->folder && !al_folder_make(file->folder, err)) || !fetch(files, file, err))
		return false;
	bool ok = al_file_write(file->path, file->content.data, file->content.length, err);
	al_text_finish(&file->content);
	return ok;
}

bool al_files_write(struct al_files *files, struct al_error *err)
{
	bool *is_new = al_new_array(&files->arena, bool, files->n + 1);
	const char **paths = al_new_array(&files->arena, const char *, files->n + 1);

	for (size_t i = 0; i < files->n; i++)
		paths[i] = files->items[i].path;
	if (!al_touched_check_all(paths, files->n, err))
		return false;
	for (size_t i = 0; i < files->n; i++) {
		is_new[i] = access(files->items[i].path, F_OK) != 0;
		if (write_file(files, &files->items[i], err))
			continue;
		while (i-- > 0)
			if (is_new[i])
				unlink(files->items[i].path);
		return false;
	}
	return true;
}

const char *al_files_text(struct al_files *files)
{
	enum { MOST_NAMED = 3 };
	const size_t n = files->n;
	const char *text = NULL;

	if (n > MOST_NAMED)
		return al_format(&files->arena, "%zu files, %s to %s", n, files->items[0].path,
			files->items[n - 1].path);
	for (size_t i = 0; i < n; i++)
		text = al_format(&files->arena, "%s%s%s", text ? text : "", text ? ", " : "",
			files->items[i].path);
	return text;
}
