/* Outputs: files and folders that appear whole or not at all. */
#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/mount.h"
#include "base/temporary.h"

struct al_output {
	struct al_arena arena;
	const char *path; /* as given, for messages */
	const char *target; /* what is renamed over; NULL: written directly */
	char *temporary;
	bool is_folder;
	const char **files; /* up to a NULL: a folder's, or the temporary one itself */
	mode_t mode;
	int fd;
	struct al_mounted *mounted; /* it is kept in memory; NULL: on disk */
	struct al_output *older;
};

static bool fail_write(struct al_error *err, const char *path)
{
	return al_fail(err, AL_ESYSTEM, "%s: can't write: %s", path, strerror(errno));
}

/* ---- signals ---- */

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_ENDING = sizeof(ending_signals) / sizeof(*ending_signals) };

/* All that are open, the newest first: files in a folder before it. Walked by the handler, which
 * doesn't return: at any instant what is in the list is whole. */
static struct al_output *_Atomic newest;
static struct sigaction before[N_ENDING];

static void remove_temporary(const struct al_output *output)
{
	for (const char **file = output->files; *file; file++)
		unlink(*file);
	if (output->is_folder)
		rmdir(output->temporary);
}

void al_output_remove_all(void)
{
	for (const struct al_output *output = newest; output; output = output->older)
		remove_temporary(output);
}

/* SA_RESETHAND has put the default action back: the raised signal ends the program when this
 * returns. */
static void end_by_signal(int number)
{
	al_output_remove_all();
	raise(number);
}

static bool is_default(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

static void install_handlers(void)
{
	struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};

	sigemptyset(&action.sa_mask);
	for (int i = 0; i < N_ENDING; i++) {
		sigaction(ending_signals[i], NULL, &before[i]);
		if (is_default(&before[i]))
			sigaction(ending_signals[i], &action, NULL);
	}
}

static void restore_handlers(void)
{
	for (int i = 0; i < N_ENDING; i++)
		if (is_default(&before[i]))
			sigaction(ending_signals[i], &before[i], NULL);
}

static void enlist(struct al_output *output)
{
	if (!newest)
		install_handlers();
	output->older = newest;
	newest = output;
}

static void delist(struct al_output *output)
{
	struct al_output *younger = newest;

	if (younger == output) {
		newest = output->older;
	} else {
		while (younger->older != output)
			younger = younger->older;
		younger->older = output->older;
	}
	if (!newest)
		restore_handlers();
}

/* ---- opening ---- */

/* The path without slashes at its end, and where it leads if it is a link. */
static bool find_target(struct al_output *output)
{
	enum { MOST_LINKS = 40 };
	char link[PATH_MAX], *target = al_strdup(&output->arena, output->path);
	int n_links = 0;
	ssize_t n;

	for (size_t length = strlen(target); length > 1 && target[length - 1] == '/';)
		target[--length] = '\0';
	for (; (n = readlink(target, link, sizeof(link) - 1)) >= 0; n_links++) {
		const char *slash = strrchr(target, '/');
		const int folder = *link == '/' || !slash ? 0 : (int)(slash - target) + 1;
		if (n_links == MOST_LINKS) {
			errno = ELOOP;
			return false;
		}
		target = al_format(&output->arena, "%.*s%.*s", folder, target, (int)n, link);
	}
	output->target = target;
	return true;
}

static mode_t new_mode(mode_t all)
{
	const mode_t mask = umask(0);

	umask(mask);
	return all & ~mask;
}

/* A name is enlisted before there is anything of that name. */
static bool make_temporary(struct al_output *output, struct al_error *err)
{
	al_temporary_tidy(output->target);
	output->temporary = al_temporary_name(&output->arena, output->target);
	output->files = al_new_array(&output->arena, const char *, 2);
	output->files[0] = output->is_folder ? NULL : output->temporary;
	enlist(output);
	output->fd = al_temporary_make(output->temporary, output->is_folder);
	if (output->fd >= 0)
		return true;
	fail_write(err, output->path);
	delist(output);
	return false;
}

/* Without locks, on some network file systems, another process goes unnoticed. */
static bool open_unfinished(struct al_output *output, uint64_t kept, struct al_error *err)
{
	struct stat info;

	output->temporary = al_format(&output->arena, "%s.unfinished", output->target);
	output->files = al_new_array(&output->arena, const char *, 2);
	output->files[0] = kept > 0 ? NULL : output->temporary;
	output->fd = open(output->temporary, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (output->fd < 0)
		return fail_write(err, output->path);
	bool ok = flock(output->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
		|| al_fail(err, AL_EINPUT, "%s: another process is writing it", output->path);
	ok = ok
		&& ((fstat(output->fd, &info) == 0 && (uint64_t)info.st_size >= kept
			    && ftruncate(output->fd, (off_t)kept) == 0
			    && lseek(output->fd, 0, SEEK_END) >= 0)
			|| fail_write(err, output->path));
	if (ok)
		enlist(output);
	else
		close(output->fd);
	return ok;
}

bool al_output_is_direct(const char *path)
{
	struct stat info;

	return !al_mount_now() && stat(path, &info) == 0 && !S_ISREG(info.st_mode)
		&& !S_ISDIR(info.st_mode);
}

static bool open_mounted(struct al_output *output, struct al_error *err)
{
	const size_t length = strlen(output->path);

	if (length == 0 || output->path[length - 1] == '/')
		return al_fail(err, AL_EINPUT, "%s: is a directory, expected a file's name",
			output->path);
	if (!al_overwrite_check(output->path, err))
		return false;
	output->mounted = al_mount_add(al_mount_now(), output->path);
	al_text_init(&output->mounted->content);
	return true;
}

static bool open_file(struct al_output *output, const uint64_t *kept, struct al_error *err)
{
	if (al_mount_now())
		return open_mounted(output, err);
	struct stat old;
	const bool exists = stat(output->path, &old) == 0;
	const char *slash = strrchr(output->path, '/');

	if ((exists && S_ISDIR(old.st_mode)) || (slash && slash[1] == '\0'))
		return al_fail(err, AL_EINPUT, "%s: is a directory, expected a file's name",
			output->path);
	if (al_output_is_direct(output->path)) {
		output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
		return output->fd >= 0 || fail_write(err, output->path);
	}
	if (!al_overwrite_check(output->path, err))
		return false;
	if (!find_target(output))
		return fail_write(err, output->path);
	output->mode = exists ? old.st_mode & 07777 : new_mode(0666);
	return kept ? open_unfinished(output, *kept, err) : make_temporary(output, err);
}

static struct al_output *create(const char *path)
{
	struct al_output *output = al_calloc(1, sizeof(*output));

	al_arena_init(&output->arena);
	output->path = al_strdup(&output->arena, path);
	return output;
}

static void destroy(struct al_output *output)
{
	al_arena_finish(&output->arena);
	free(output);
}

/* The opened output; NULL: none. */
static struct al_output *opened(struct al_output *output, bool is_open)
{
	if (is_open)
		return output;
	destroy(output);
	return NULL;
}

bool al_output_open(struct al_output **out, const char *path, struct al_error *err)
{
	struct al_output *output = create(path);

	*out = opened(output, open_file(output, NULL, err));
	return *out;
}

bool al_output_open_kept(struct al_output **out, const char *path, uint64_t kept,
	struct al_error *err)
{
	struct al_output *output = create(path);

	*out = opened(output, open_file(output, &kept, err));
	return *out;
}

bool al_output_keep(struct al_output *output, struct al_error *err)
{
	if (!output->temporary)
		return true;
	output->files[0] = NULL;
	return fsync(output->fd) == 0 || fail_write(err, output->path);
}

/* ---- opening a folder ---- */

static bool check_names(const struct al_output *output, const char *const *names, size_t n,
	struct al_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (al_find_name(names[i], names, i) >= 0)
			return al_fail(err, AL_EINPUT,
				"%s/%s would be written twice: use two names", output->path,
				names[i]);
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

static bool check_folder(const struct al_output *output, struct al_error *err)
{
	struct stat info;

	if (stat(output->target, &info) != 0)
		return errno == ENOENT || fail_write(err, output->path);
	if (!S_ISDIR(info.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is a file, expected a new or empty folder",
			output->path);
	return is_empty(output->target)
		|| al_fail(err, AL_EINPUT,
			"%s: the folder isn't empty, expected a new or an empty one", output->path);
}

static bool make_folder(struct al_output *output, struct al_error *err)
{
	output->mode = new_mode(0777);
	if (!find_target(output))
		return fail_write(err, output->path);
	return check_folder(output, err) && make_temporary(output, err);
}

/* In memory a folder is what its files are called. */
static bool open_folder(struct al_output *output, const char *const *names, size_t n,
	struct al_error *err)
{
	output->is_folder = true;
	if (!check_names(output, names, n, err) || (!al_mount_now() && !make_folder(output, err)))
		return false;
	const char *folder = output->temporary ? output->temporary : output->path;
	const char **files = al_new_array(&output->arena, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		files[i] = al_path_join(&output->arena, folder, names[i]);
	output->files = files;
	return true;
}

bool al_output_open_folder(struct al_output **out, const char *path, const char *const *names,
	size_t n, struct al_error *err)
{
	struct al_output *output = create(path);

	*out = opened(output, open_folder(output, names, n, err));
	return *out;
}

/* ---- writing ---- */

bool al_output_append(struct al_output *output, const void *bytes, size_t length,
	struct al_error *err)
{
	if (output->mounted) {
		al_text_add_bytes(&output->mounted->content, bytes, length);
		return true;
	}
	return al_temporary_write(output->fd, -1, bytes, length) || fail_write(err, output->path);
}

const char *al_output_file(const struct al_output *output, size_t i)
{
	return output->files[i];
}

const char *al_output_written(const struct al_output *output)
{
	return output->temporary		       ? output->temporary
		: output->mounted || output->is_folder ? output->path
						       : NULL;
}

/* ---- closing ---- */

/* Renamed before it is closed: closing the file drops the lock that marks its owner. All errors of
 * writing it are known after the sync. */
static bool replace(const struct al_output *output)
{
	struct stat info;

	if (fchmod(output->fd, output->mode) != 0 || fsync(output->fd) != 0
		|| rename(output->temporary, output->target) != 0)
		return false;
	if (fstat(output->fd, &info) == 0)
		al_overwrite_add(info.st_dev, info.st_ino, AL_WAS_WRITTEN);
	return true;
}

/* Closes what is open; what is temporary goes unless it was renamed. */
static bool close_output(struct al_output *output, bool is_done)
{
	if (output->temporary && !is_done)
		remove_temporary(output);
	const bool ok = close(output->fd) == 0;
	if (output->temporary)
		delist(output);
	return ok;
}

static bool is_in_memory(const struct al_output *output)
{
	return output->mounted || (output->is_folder && !output->temporary);
}

bool al_output_commit(struct al_output *output, struct al_error *err)
{
	if (is_in_memory(output)) {
		destroy(output);
		return true;
	}
	bool ok = !output->target || replace(output) || fail_write(err, output->path);

	if (!close_output(output, ok) && ok)
		ok = output->target || fail_write(err, output->path);
	destroy(output);
	return ok;
}

/* The mount is gone, and its bytes with it. */
static void forget(const struct al_output *output)
{
	struct al_mounted *file = output->mounted;

	if (file)
		file->path = NULL;
	for (const char **path = output->files; path && *path; path++) {
		file = al_mount_find(*path);
		if (file)
			file->path = NULL;
	}
}

void al_output_abandon(struct al_output *output)
{
	if (!output)
		return;
	if (is_in_memory(output))
		forget(output);
	else
		close_output(output, false);
	destroy(output);
}

/* ---- whole files ---- */

bool al_file_write(const char *path, const void *bytes, size_t length, struct al_error *err)
{
	struct al_output *output;

	if (!al_output_open(&output, path, err))
		return false;
	if (al_output_append(output, bytes, length, err))
		return al_output_commit(output, err);
	al_output_abandon(output);
	return false;
}
