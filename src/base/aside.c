/* Bytes that wait in a file without a name. */
#include "base/aside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/temporary.h"
#include "base/text.h"

static bool fail(const struct al_aside *aside, const char *what, struct al_error *err)
{
	return al_fail(err, AL_ESYSTEM, "%s: can't %s: %s", aside->folder, what, strerror(errno));
}

bool al_aside_open(struct al_aside *aside, const char *path, struct al_error *err)
{
	const char *slash = strrchr(path, '/');
	char *name;

	*aside = (struct al_aside){.folder = al_text_copy(slash ? path : "."), .fd = -1};
	if (slash)
		aside->folder[slash == path ? 1 : slash - path] = '\0';
	aside->fd = al_temporary_open(&name, path);
	if (aside->fd < 0) {
		fail(aside, "write", err);
		al_aside_close(aside);
		return false;
	}
	unlink(name);
	free(name);
	return true;
}

void al_aside_close(struct al_aside *aside)
{
	if (aside->folder && aside->fd >= 0)
		close(aside->fd);
	free(aside->folder);
	*aside = (struct al_aside){0};
}

bool al_aside_put_at(const struct al_aside *aside, uint64_t at, const void *bytes, size_t length,
	struct al_error *err)
{
	const char *next = bytes;

	for (size_t done = 0; done < length;) {
		ssize_t n = pwrite(aside->fd, next + done, length - done, (off_t)(at + done));
		if (n < 0 && errno != EINTR)
			return fail(aside, "write", err);
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool al_aside_put(struct al_aside *aside, const void *bytes, size_t length, uint64_t *at,
	struct al_error *err)
{
	*at = aside->bytes;
	aside->bytes += length;
	return al_aside_put_at(aside, *at, bytes, length, err);
}

bool al_aside_get(const struct al_aside *aside, uint64_t at, void *out, size_t length,
	struct al_error *err)
{
	char *next = out;

	for (size_t done = 0; done < length;) {
		ssize_t n = pread(aside->fd, next + done, length - done, (off_t)(at + done));
		if (n == 0)
			return al_fail(err, AL_ESYSTEM, "%s: a file put aside ended early",
				aside->folder);
		if (n < 0 && errno != EINTR)
			return fail(aside, "read back", err);
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}
