/* Files: whole files in, whole files out. */
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output.h"
#include "base/source.h"
#include "base/text.h"

/* ---- reading ---- */

/* A file that grows meanwhile is read as far as it went when it was opened. */
static bool read_whole(const struct al_source *source, struct al_text *out, size_t limit,
	struct al_error *err)
{
	if (source->bytes > limit)
		return al_fail(err, AL_EINPUT, "%s: has %llu bytes, expected at most %zu",
			source->path, (unsigned long long)source->bytes, limit);
	al_text_init(out);
	al_text_add_repeated(out, '\0', (size_t)source->bytes);
	if (al_source_read(source, 0, out->data, out->length, err))
		return true;
	al_text_finish(out);
	return false;
}

bool al_file_read(struct al_text *out, const char *path, size_t limit, struct al_error *err)
{
	struct al_source source;

	if (!al_source_open(&source, path, err))
		return false;
	bool ok = read_whole(&source, out, limit, err);
	al_source_close(&source);
	return ok;
}

/* ---- writing ---- */

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

/* ---- folders ---- */

const char *al_path_join(struct al_arena *arena, const char *folder, const char *name)
{
	const size_t length = strlen(folder);
	const bool ends = length > 0 && folder[length - 1] == '/';

	return al_format(arena, ends ? "%s%s" : "%s/%s", folder, name);
}

bool al_folder_make(const char *path, struct al_error *err)
{
	char part[PATH_MAX];
	size_t length = strlen(path);
	struct stat info;

	if (length == 0 || length >= sizeof(part))
		return al_fail(err, AL_EINPUT, "a folder's name of %zu bytes, expected 1 to %d",
			length, PATH_MAX - 1);
	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			return al_fail(err, AL_ESYSTEM, "%s: can't make the folder: %s", part,
				strerror(errno));
	}
	if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is not a folder", path);
	return true;
}
