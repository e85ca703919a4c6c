/* Folders of outputs: a folder that appears with all its files or not at all. */
#include "base/output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/pending.h"
#include "base/temporary.h"
#include "base/text.h"

struct al_output_folder {
	struct al_arena arena;
	const char *path; /* as given, for messages */
	char *target, *temporary; /* without a slash at the end; from the heap */
	const char **files; /* [n + 1], in the temporary folder, up to a NULL */
	struct al_pending pending;
	int fd;
};

static bool fail_write(struct al_error *err, const char *path)
{
	return al_fail(err, AL_ESYSTEM, "%s: can't write: %s", path, strerror(errno));
}

/* ---- opening ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool check_names(struct al_output_folder *folder, const char *const *names, size_t n,
	struct al_error *err)
{
	const char **sorted = al_new_array(&folder->arena, const char *, n + 1);

	memcpy(sorted, names, n * sizeof(*names));
	qsort(sorted, n, sizeof(*sorted), compare_texts);
	for (size_t i = 1; i < n; i++)
		if (strcmp(sorted[i - 1], sorted[i]) == 0)
			return al_fail(err, AL_EINPUT,
				"%s/%s: would be written twice, expected two names", folder->target,
				sorted[i]);
	return true;
}

static bool is_empty(const char *path)
{
	DIR *folder = opendir(path);
	bool found = false;

	if (!folder)
		return false;
	for (struct dirent *entry; !found && (entry = readdir(folder));)
		found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(folder);
	return !found;
}

static bool check_target(struct al_output_folder *folder, struct al_error *err)
{
	struct stat info;

	if (stat(folder->target, &info) != 0)
		return errno == ENOENT || fail_write(err, folder->path);
	if (!S_ISDIR(info.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is a file, expected a folder to be made",
			folder->path);
	return is_empty(folder->target)
		|| al_fail(err, AL_EINPUT,
			"%s: the folder isn't empty, expected a new or an empty one", folder->path);
}

static void name_files(struct al_output_folder *folder, const char *const *names, size_t n)
{
	folder->files = al_new_array(&folder->arena, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		folder->files[i] = al_format(&folder->arena, "%s/%s", folder->temporary, names[i]);
}

static bool make_temporary(struct al_output_folder *folder, const char *const *names, size_t n,
	struct al_error *err)
{
	sigset_t old;

	al_temporary_tidy(folder->target);
	al_pending_block(&old);
	folder->fd = al_temporary_folder_open(&folder->temporary, folder->target);
	if (folder->fd >= 0) {
		name_files(folder, names, n);
		folder->pending.files = folder->files;
		folder->pending.folder = folder->temporary;
		al_pending_add(&folder->pending);
	}
	al_pending_unblock(&old);
	return folder->fd >= 0 || fail_write(err, folder->path);
}

/* "out/" is "out", and a link what it leads to. */
static bool find_target(struct al_output_folder *folder, struct al_error *err)
{
	size_t length = strlen(folder->path);
	char *path = al_strndup(&folder->arena, folder->path, length);

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	folder->target = al_path_follow(path);
	return folder->target || fail_write(err, folder->path);
}

bool al_output_folder_open(struct al_output_folder **out, const char *path,
	const char *const *names, size_t n, struct al_error *err)
{
	struct al_output_folder *folder = al_calloc(1, sizeof(*folder));

	al_arena_init(&folder->arena);
	folder->path = al_strdup(&folder->arena, path);
	folder->fd = folder->pending.slot = -1;
	*out = folder;
	if (find_target(folder, err) && check_names(folder, names, n, err)
		&& check_target(folder, err) && make_temporary(folder, names, n, err))
		return true;
	al_output_folder_abandon(folder);
	*out = NULL;
	return false;
}

const char *al_output_folder_file(const struct al_output_folder *folder, size_t i)
{
	return folder->files[i];
}

const char *al_output_folder_written(const struct al_output_folder *folder)
{
	return folder->temporary;
}

/* ---- closing ---- */

/* The temporary folder can be read by its owner alone; the new one as any other. Names in it last
 * when it is synced. */
static bool put_in_place(const struct al_output_folder *folder)
{
	const mode_t mask = umask(0);

	umask(mask);
	return fchmod(folder->fd, 0777 & ~mask) == 0 && fsync(folder->fd) == 0
		&& rename(folder->temporary, folder->target) == 0;
}

static void close_folder(struct al_output_folder *folder, bool is_done)
{
	if (folder->fd >= 0 && !is_done) {
		for (const char **file = folder->files; *file; file++)
			unlink(*file);
		rmdir(folder->temporary);
	}
	if (folder->fd >= 0)
		close(folder->fd);
	al_pending_forget(&folder->pending);
}

static void destroy(struct al_output_folder *folder)
{
	free(folder->target);
	free(folder->temporary);
	al_arena_finish(&folder->arena);
	free(folder);
}

bool al_output_folder_commit(struct al_output_folder *folder, struct al_error *err)
{
	sigset_t old;

	al_pending_block(&old);
	const bool ok = put_in_place(folder) || fail_write(err, folder->path);
	close_folder(folder, ok);
	al_pending_unblock(&old);
	destroy(folder);
	return ok;
}

void al_output_folder_abandon(struct al_output_folder *folder)
{
	sigset_t old;

	if (!folder)
		return;
	al_pending_block(&old);
	close_folder(folder, false);
	al_pending_unblock(&old);
	destroy(folder);
}
