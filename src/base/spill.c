/* Bytes that wait in a file without a name. */
#include "base/spill.h"

#include <errno.h>
#include <unistd.h>

#include "base/base.h"
#include "base/mount.h"
#include "base/temporary.h"

static bool fail_write(const struct al_spill *spill, struct al_error *err)
{
	return al_fail(err, AL_ESYSTEM, "%s: can't write: %s", spill->source.path, strerror(errno));
}

static const char *temporary_path(struct al_arena *arena)
{
	const char *folder = getenv("TMPDIR");

	return al_path_join(arena, folder && *folder ? folder : P_tmpdir, "attnledger");
}

bool al_spill_open(struct al_spill *spill, const char *path, struct al_error *err)
{
	*spill = (struct al_spill){.is_open = true};
	al_arena_init(&spill->arena);
	if (!path || al_mount_now())
		path = temporary_path(&spill->arena);
	const char *slash = strrchr(path, '/');
	spill->source.path = !slash ? "."
		: slash == path	    ? "/"
				    : al_strndup(&spill->arena, path, (size_t)(slash - path));
	char *name = al_temporary_name(&spill->arena, path);
	spill->source.fd = al_temporary_make(name, false);
	if (spill->source.fd >= 0)
		return unlink(name) == 0 || fail_write(spill, err);
	fail_write(spill, err);
	al_spill_close(spill);
	return false;
}

void al_spill_close(struct al_spill *spill)
{
	if (!spill->is_open)
		return;
	al_source_close(&spill->source);
	al_arena_finish(&spill->arena);
	*spill = (struct al_spill){0};
}

bool al_spill_put_at(const struct al_spill *spill, uint64_t at, const void *bytes, size_t length,
	struct al_error *err)
{
	return al_temporary_write(spill->source.fd, (int64_t)at, bytes, length)
		|| fail_write(spill, err);
}

bool al_spill_put(struct al_spill *spill, const void *bytes, size_t length, uint64_t *at,
	struct al_error *err)
{
	*at = spill->source.bytes;
	spill->source.bytes += length;
	return al_spill_put_at(spill, *at, bytes, length, err);
}

bool al_spill_get(const struct al_spill *spill, uint64_t at, void *out, size_t length,
	struct al_error *err)
{
	return al_source_read(&spill->source, at, out, length, err);
}
