/* Files: whole files in, whole files out. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"

enum { BLOCK_BYTES = 512 * 1024 };

static bool fail_system(struct al_error *err, enum al_status status, const char *what,
	const char *path)
{
	return al_fail(err, status, "%s: can't %s: %s", path, what, strerror(errno));
}

/* ---- reading ---- */

static bool check_regular(int fd, const char *path, size_t limit, struct al_error *err)
{
	struct stat info;

	if (fstat(fd, &info) != 0)
		return fail_system(err, AL_ESYSTEM, "read its status", path);
	if (S_ISDIR(info.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is a directory, expected a file", path);
	if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is a pipe, expected a file", path);
	if (!S_ISREG(info.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is a device, expected a file", path);
	if (info.st_size < 0 || (size_t)info.st_size > limit)
		return al_fail(err, AL_EINPUT, "%s: has %lld bytes, expected at most %zu", path,
			(long long)info.st_size, limit);
	return true;
}

static bool read_blocks(int fd, struct al_text *out, const char *path, size_t limit,
	struct al_error *err)
{
	char *block = malloc(BLOCK_BYTES);
	ssize_t n;

	if (!block)
		abort();
	while ((n = read(fd, block, BLOCK_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || out->length + (size_t)n > limit)
			break;
		al_text_add_bytes(out, block, (size_t)n);
	}
	free(block);
	if (n < 0)
		return fail_system(err, AL_ESYSTEM, "read", path);
	return n == 0 || al_fail(err, AL_EINPUT, "%s: grew beyond %zu bytes while it was read", path, limit);
}

bool al_file_read(struct al_text *out, const char *path, size_t limit, struct al_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return fail_system(err, AL_EINPUT, "open", path);
	al_text_init(out);
	bool ok = check_regular(fd, path, limit, err) && read_blocks(fd, out, path, limit, err);
	close(fd);
	if (!ok)
		al_text_finish(out);
	return ok;
}

/* ---- writing ---- */

static bool write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, bytes, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes += n;
		length -= (size_t)n;
	}
	return true;
}

static bool write_directly(const char *path, const void *bytes, size_t length, struct al_error *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return fail_system(err, AL_ESYSTEM, "open", path);
	bool ok = write_all(fd, bytes, length);
	ok = close(fd) == 0 && ok;
	return ok || fail_system(err, AL_ESYSTEM, "write", path);
}

/* The mode that a new file gets: the old one's, or 0666 less the umask. */
static mode_t target_mode(const struct stat *old)
{
	if (old)
		return old->st_mode & 07777;
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

static bool write_beside(const char *target, mode_t mode, const void *bytes, size_t length,
	struct al_error *err)
{
	struct al_arena arena;
	al_arena_init(&arena);
	char *temporary = al_format(&arena, "%s.XXXXXX", target);

	int fd = mkstemp(temporary);
	bool ok = fd >= 0;
	if (ok) {
		ok = write_all(fd, bytes, length) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
		ok = close(fd) == 0 && ok;
		ok = ok && rename(temporary, target) == 0;
	}
	if (!ok) {
		fail_system(err, AL_ESYSTEM, "write", target);
		if (fd >= 0)
			unlink(temporary);
	}
	al_arena_finish(&arena);
	return ok;
}

/* Follows symbolic links to the file that is replaced. */
static bool write_atomically(const char *path, const void *bytes, size_t length,
	struct al_error *err)
{
	struct stat old;
	bool exists = stat(path, &old) == 0;

	if (exists && S_ISDIR(old.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is a directory, expected a file's name", path);
	if (exists && !S_ISREG(old.st_mode))
		return write_directly(path, bytes, length, err);
	char *target = exists ? realpath(path, NULL) : strdup(path);
	if (!target)
		return fail_system(err, AL_ESYSTEM, "write", path);
	bool ok = write_beside(target, target_mode(exists ? &old : NULL), bytes, length, err);
	free(target);
	return ok;
}

bool al_file_write(const char *path, const void *bytes, size_t length, struct al_error *err)
{
	sigset_t waiting, before;

	sigemptyset(&waiting);
	sigaddset(&waiting, SIGINT);
	sigaddset(&waiting, SIGTERM);
	sigaddset(&waiting, SIGHUP);
	sigprocmask(SIG_BLOCK, &waiting, &before);
	bool ok = write_atomically(path, bytes, length, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ok;
}

bool al_folder_make(const char *path, struct al_error *err)
{
	char part[PATH_MAX];
	size_t length = strlen(path);
	struct stat info;

	if (length == 0 || length >= sizeof(part))
		return al_fail(err, AL_EINPUT, "a folder's name of %zu bytes, expected 1 to %d", length,
			PATH_MAX - 1);
	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			return fail_system(err, AL_ESYSTEM, "make the folder", part);
	}
	if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is not a folder", path);
	return true;
}
