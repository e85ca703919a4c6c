/* Outputs: a file written piece by piece, whole or not at all. */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/pending.h"
#include "base/temporary.h"
#include "base/touched.h"

struct al_output {
	char *path; /* as given, for messages */
	char *target; /* what is renamed over; NULL: written directly */
	char *temporary;
	const char *files[2]; /* the temporary one, NULL */
	struct al_pending pending;
	mode_t mode;
	int fd;
};

static bool fail_write(struct al_error *err, const char *path)
{
	return al_fail(err, AL_ESYSTEM, "%s: can't write: %s", path, strerror(errno));
}

/* ---- opening ---- */

/* The mode that a new file gets: the old one's, or 0666 less the umask. */
static mode_t target_mode(const struct stat *old)
{
	if (old)
		return old->st_mode & 07777;
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

static bool open_beside(struct al_output *output, struct al_error *err)
{
	sigset_t old;

	al_temporary_tidy(output->target);
	al_pending_block(&old);
	output->fd = al_temporary_open(&output->temporary, output->target);
	output->files[0] = output->temporary;
	output->pending.files = output->files;
	if (output->fd >= 0)
		al_pending_add(&output->pending);
	al_pending_unblock(&old);
	return output->fd >= 0 || fail_write(err, output->path);
}

static bool open_directly(struct al_output *output, struct al_error *err)
{
	output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
	return output->fd >= 0 || fail_write(err, output->path);
}

bool al_output_is_direct(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static bool is_folder(const char *path, const struct stat *old)
{
	size_t length = strlen(path);

	return (old && S_ISDIR(old->st_mode)) || (length > 0 && path[length - 1] == '/');
}

static bool open_output(struct al_output *output, struct al_error *err)
{
	struct stat old;
	bool exists = stat(output->path, &old) == 0;

	if (is_folder(output->path, exists ? &old : NULL))
		return al_fail(err, AL_EINPUT, "%s: is a directory, expected a file's name",
			output->path);
	if (al_output_is_direct(output->path))
		return open_directly(output, err);
	if (!al_touched_check(output->path, err))
		return false;
	output->target = al_path_follow(output->path);
	if (!output->target)
		return fail_write(err, output->path);
	output->mode = target_mode(exists ? &old : NULL);
	return open_beside(output, err);
}

static void destroy(struct al_output *output)
{
	free(output->path);
	free(output->target);
	free(output->temporary);
	free(output);
}

bool al_output_open(struct al_output **out, const char *path, struct al_error *err)
{
	struct al_output *output = al_calloc(1, sizeof(*output));

	output->path = al_text_copy(path);
	output->fd = output->pending.slot = -1;
	*out = output;
	if (open_output(output, err))
		return true;
	destroy(output);
	*out = NULL;
	return false;
}

/* ---- writing ---- */

bool al_output_append(struct al_output *output, const void *bytes, size_t length,
	struct al_error *err)
{
	const char *next = bytes;

	while (length > 0) {
		ssize_t n = write(output->fd, next, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_write(err, output->path);
		next += n;
		length -= (size_t)n;
	}
	return true;
}

/* ---- closing ---- */

/* Renamed before it is closed: with the file the lock goes that says who owns it. All errors of
 * writing it are known after the sync. */
static bool replace(struct al_output *output)
{
	struct stat info;

	if (fchmod(output->fd, output->mode) != 0 || fsync(output->fd) != 0
		|| rename(output->temporary, output->target) != 0)
		return false;
	if (fstat(output->fd, &info) == 0)
		al_touched_add(info.st_dev, info.st_ino, AL_TOUCH_WRITTEN);
	return true;
}

/* Closes what is open; the temporary file goes unless it was renamed. */
static bool close_output(struct al_output *output, bool is_done)
{
	if (output->temporary && !is_done)
		unlink(output->temporary);
	bool ok = close(output->fd) == 0;
	al_pending_forget(&output->pending);
	return ok;
}

const char *al_output_written(const struct al_output *output)
{
	return output->temporary;
}

bool al_output_commit(struct al_output *output, struct al_error *err)
{
	sigset_t old;

	al_pending_block(&old);
	bool ok = !output->target || replace(output) || fail_write(err, output->path);
	if (!close_output(output, ok) && ok)
		ok = output->target || fail_write(err, output->path);
	al_pending_unblock(&old);
	destroy(output);
	return ok;
}

void al_output_abandon(struct al_output *output)
{
	sigset_t old;

	if (!output)
		return;
	al_pending_block(&old);
	close_output(output, false);
	al_pending_unblock(&old);
	destroy(output);
}
