/* Files that are written together. */
#include "answer/files.h"

#include <unistd.h>

#include "base/file.h"
#include "base/mount.h"
#include "base/output.h"

void al_files_finish(struct al_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		al_text_finish(&files->items[i].content);
	if (files->aside.is_open)
		al_spill_close(&files->aside);
}

struct al_text *al_files_add_path(struct al_files *files, const char *path)
{
	struct file *file = AL_APPEND(files->arena, files->items, files->n, files->room);

	*file = (struct file){.path = al_strdup(files->arena, path)};
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
	const char *path = path_in(files->arena, folder, name, ending);
	struct al_text *content = al_files_add_path(files, path);

	files->items[files->n - 1].folder = al_strdup(files->arena, folder);
	return content;
}

const struct al_text *al_files_find(struct al_files *files, const char *folder, const char *name,
	const char *ending)
{
	const char *path = path_in(files->arena, folder, name, ending);

	for (size_t i = files->n; i-- > 0;)
		if (strcmp(files->items[i].path, path) == 0)
			return &files->items[i].content;
	return NULL;
}

/* ---- aside ---- */

/* The last added are asked for again first. */
static struct file *need_file(struct al_files *files, const char *path)
{
	for (size_t i = files->n; i-- > 0;)
		if (files->items[i].n_pieces > 0 && strcmp(files->items[i].path, path) == 0)
			return &files->items[i];
	al_files_add_path(files, path);
	return &files->items[files->n - 1];
}

bool al_files_put_aside(struct al_files *files, const char *folder, const char *name,
	const struct al_text *content, struct al_error *err)
{
	uint64_t at;

	if (!files->aside.is_open
		&& (!al_folder_make(folder, err)
			|| !al_spill_open(&files->aside, al_format(files->arena, "%s/", folder),
				err)))
		return false;
	if (!al_spill_put(&files->aside, content->data, content->length, &at, err))
		return false;
	struct file *file = need_file(files, al_path_join(files->arena, folder, name));
	*AL_APPEND(files->arena, file->pieces, file->n_pieces,
		file->pieces_room) = (struct al_file_piece){at, content->length};
	return true;
}

/* ---- writing ---- */

static bool append_piece(const struct al_files *files, const struct al_file_piece *piece,
	struct al_output *output, struct al_error *err)
{
	char *block = al_alloc(AL_BLOCK_BYTES, 1);
	bool ok = true;

	for (size_t done = 0; ok && done < piece->bytes;) {
		const size_t left = piece->bytes - done;
		const size_t now = al_least(left, AL_BLOCK_BYTES);
		ok = al_spill_get(&files->aside, piece->at + done, block, now, err)
			&& al_output_append(output, block, now, err);
		done += now;
	}
	free(block);
	return ok;
}

static bool write_pieces(const struct al_files *files, const struct file *file,
	struct al_error *err)
{
	struct al_output *output;
	bool ok = true;

	if (!al_output_open(&output, file->path, err))
		return false;
	for (size_t i = 0; ok && i < file->n_pieces; i++)
		ok = append_piece(files, &file->pieces[i], output, err);
	if (ok)
		return al_output_commit(output, err);
	al_output_abandon(output);
	return false;
}

static bool write_file(const struct al_files *files, struct file *file, struct al_error *err)
{
	if (file->n_pieces > 0)
		return write_pieces(files, file, err);
	if (file->folder && !al_folder_make(file->folder, err))
		return false;
	bool ok = al_file_write(file->path, file->content.data, file->content.length, err);
	al_text_finish(&file->content);
	return ok;
}

/* The file, not a link to it that was there. */
static void remove_written(const char *path)
{
	char *file = al_mount_now() ? NULL : realpath(path, NULL);

	if (file)
		unlink(file);
	free(file);
}

/* Two names of one file are found out where the second is written. */
bool al_files_write(struct al_files *files, struct al_error *err)
{
	bool *is_new = al_new_array(files->arena, bool, files->n + 1);
	bool ok = true;
	size_t n = 0;

	for (size_t i = 0; ok && i < files->n; i++)
		ok = al_overwrite_check(files->items[i].path, err);
	for (; ok && n < files->n; n++) {
		is_new[n] = access(files->items[n].path, F_OK) != 0;
		ok = write_file(files, &files->items[n], err);
	}
	for (size_t i = 0; !ok && i + 1 < n; i++)
		if (is_new[i])
			remove_written(files->items[i].path);
	return ok;
}

const char *al_files_text(struct al_files *files)
{
	enum { MOST_NAMED = 3 };
	const size_t n = files->n;
	const char *text = "";

	if (n > MOST_NAMED)
		return al_format(files->arena, "%zu files, %s to %s", n, files->items[0].path,
			files->items[n - 1].path);
	for (size_t i = 0; i < n; i++)
		text = al_join(files->arena, text, files->items[i].path);
	return *text ? text : NULL;
}
