/* Files that are written together. */
#include "commands/files.h"

#include <unistd.h>

#include "base/file.h"
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

struct al_text *al_files_add(struct al_files *files, const char *folder, const char *name,
	const char *ending)
{
	const char *path = al_format(&files->arena, "%s/%s.%s", folder, name, ending);
	struct al_text *content = al_files_add_path(files, path);

	files->items[files->n - 1].folder = al_strdup(&files->arena, folder);
	return content;
}

static bool write_file(const struct file *file, struct al_error *err)
{
	return (!file->folder || al_folder_make(file->folder, err))
		&& al_file_write(file->path, file->content.data, file->content.length, err);
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
		if (write_file(&files->items[i], err))
			continue;
		while (i-- > 0)
			if (is_new[i])
				unlink(files->items[i].path);
		return false;
	}
	return true;
}
