/* Files: a regular file read at any place, in blocks, without a mapping; whole files in and out;
 * which files a program has read and written; and files in memory in their place. */
#include "base/file.h"

#include "base/base.h"
#include "base/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what was read and written ---- */

static struct {
	bool is_on;
	struct al_arena arena;
	struct file {
		dev_t device;
		ino_t inode;
		enum al_was was;
	} * items;
	size_t n, room;
} known;

void al_overwrite_begin(void)
{
	al_arena_init(&known.arena);
	known.is_on = true;
}

void al_overwrite_end(void)
{
	al_arena_finish(&known.arena);
	known.is_on = false;
	known.items = NULL;
	known.n = known.room = 0;
}

void al_overwrite_add(dev_t device, ino_t inode, enum al_was was)
{
	if (!known.is_on)
		return;
	*AL_APPEND(&known.arena, known.items, known.n, known.room) = (struct file){device, inode,
		was};
}

static bool fail_overwrite(const char *path, bool is_written, struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		is_written ? "%s would be written twice: use two names"
			   : "%s: is a file of the input, expected another one",
		path);
}

bool al_overwrite_check(const char *path, struct al_error *err)
{
	const struct al_mounted *mounted = al_mount_find(path);
	struct stat info;

	if (mounted)
		return fail_overwrite(path, mounted->content.data != NULL, err);
	if (known.n == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
		return true;
	for (const struct file *file = known.items; file < known.items + known.n; file++)
		if (file->device == info.st_dev && file->inode == info.st_ino)
			return fail_overwrite(path, file->was == AL_WAS_WRITTEN, err);
	return true;
}

/* ---- sources ---- */

static bool fail_system(struct al_error *err, enum al_status status, const char *what,
	const char *path)
{
	return al_fail(err, status, "%s: can't %s: %s", path, what, strerror(errno));
}

static bool measure(struct al_source *source, struct al_error *err)
{
	struct stat info;

	if (fstat(source->fd, &info) != 0)
		return fail_system(err, AL_ESYSTEM, "read its status", source->path);
	if (S_ISDIR(info.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is a directory, expected a file", source->path);
	if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))
		return al_fail(err, AL_EINPUT, "%s: is a pipe, expected a file", source->path);
	if (!S_ISREG(info.st_mode) || info.st_size < 0)
		return al_fail(err, AL_EINPUT, "%s: is a device, expected a file", source->path);
	source->bytes = (uint64_t)info.st_size;
	source->device = info.st_dev;
	source->inode = info.st_ino;
	source->modified = info.st_mtim;
	return true;
}

/* Right after an open that failed: its errno is kept. */
static bool is_dangling(const char *path)
{
	int number = errno;
	struct stat info;
	bool is = number == ENOENT && lstat(path, &info) == 0;

	errno = number;
	return is;
}

static bool open_mounted(struct al_source *source, const char *path)
{
	struct al_mounted *file = al_mount_find(path);

	if (!file)
		return false;
	if (file->content.data && file->n_pieces == 0)
		al_mounted_add(al_mount_now(), file, file->content.data, file->content.length);
	*source = (struct al_source){.path = path, .fd = -1, .mounted = file, .bytes = file->bytes};
	return true;
}

static bool open_source(struct al_source *source, const char *path, struct al_error *err)
{
	if (open_mounted(source, path))
		return true;
	errno = ENOENT;
	if (al_mount_hides(path))
		return fail_system(err, AL_EINPUT, "open", path);
	/* O_NONBLOCK: opening a pipe without a writer must not hang before it is refused. */
	*source = (struct al_source){.path = path,
		.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
	if (source->fd < 0 && is_dangling(path))
		return al_fail(err, AL_EINPUT, "%s: broken symbolic link", path);
	if (source->fd < 0)
		return fail_system(err, AL_EINPUT, "open", path);
	if (measure(source, err))
		return true;
	al_source_close(source);
	return false;
}

bool al_source_open(struct al_source *source, const char *path, struct al_error *err)
{
	if (!open_source(source, path, err))
		return false;
	if (!source->mounted)
		al_overwrite_add(source->device, source->inode, AL_WAS_READ);
	return true;
}

void al_source_close(struct al_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

static bool read_open(const struct al_source *source, uint64_t offset, void *out, size_t length,
	struct al_error *err)
{
	char *bytes = out;

	for (size_t done = 0; done < length;) {
		size_t left = length - done;
		ssize_t n = pread(source->fd, bytes + done, al_least(left, AL_BLOCK_BYTES),
			(off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_system(err, AL_ESYSTEM, "read", source->path);
		if (n == 0)
			return al_fail(err, AL_ESYSTEM,
				"%s: ends at byte %llu, %llu bytes too early: it shrank while "
				"being read",
				source->path, (unsigned long long)(offset + done),
				(unsigned long long)left);
		done += (size_t)n;
	}
	return true;
}

static bool read_parked(const struct al_source *source, uint64_t offset, void *out, size_t length,
	struct al_error *err)
{
	struct al_source again;

	if (!open_source(&again, source->path, err))
		return false;
	bool ok = again.device == source->device && again.inode == source->inode
		? read_open(&again, offset, out, length, err)
		: al_fail(err, AL_ESYSTEM, "%s: was replaced after it was opened", source->path);
	al_source_close(&again);
	return ok;
}

static bool read_mounted(const struct al_source *source, uint64_t offset, void *out, size_t length,
	struct al_error *err)
{
	if (offset > source->bytes || length > source->bytes - offset)
		return al_fail(err, AL_EINPUT, "%s: ends at byte %llu", source->path,
			(unsigned long long)source->bytes);
	al_mounted_read(source->mounted, offset, out, length);
	return true;
}

bool al_source_read(const struct al_source *source, uint64_t offset, void *out, size_t length,
	struct al_error *err)
{
	if (source->mounted)
		return read_mounted(source, offset, out, length, err);
	return source->fd < 0 ? read_parked(source, offset, out, length, err)
			      : read_open(source, offset, out, length, err);
}

bool al_source_check_unchanged(const struct al_source *source, struct al_error *err)
{
	struct stat now;

	if (source->mounted)
		return true;
	if (stat(source->path, &now) != 0)
		return fail_system(err, AL_ESYSTEM, "read its status again", source->path);
	if (now.st_dev != source->device || now.st_ino != source->inode)
		return al_fail(err, AL_ESYSTEM, "%s: was replaced after it was opened",
			source->path);
	if ((uint64_t)now.st_size != source->bytes)
		return al_fail(err, AL_ESYSTEM,
			"%s: changed from %llu to %llu bytes while being read", source->path,
			(unsigned long long)source->bytes, (unsigned long long)now.st_size);
	return (now.st_mtim.tv_sec == source->modified.tv_sec
		       && now.st_mtim.tv_nsec == source->modified.tv_nsec)
		|| al_fail(err, AL_ESYSTEM, "%s: was modified while being read", source->path);
}

/* ---- whole files ---- */

/* A file that grows meanwhile is read as far as it went when it was opened. */
static bool read_whole(const struct al_source *source, struct al_text *out, size_t limit,
	struct al_error *err)
{
	if (source->bytes > limit)
		return al_fail(err, AL_EINPUT, "%s: has %llu bytes, expected at most %zu",
			source->path, (unsigned long long)source->bytes, limit);
	al_text_add_repeated(out, '\0', (size_t)source->bytes);
	return al_source_read(source, 0, out->data, out->length, err);
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

static bool read_all(int fd, const char *path, struct al_text *out, size_t limit,
	struct al_error *err)
{
	char block[1 << 16];
	ssize_t n = 1;

	while (n != 0 && out->length <= limit) {
		n = read(fd, block, sizeof(block));
		if (n < 0 && errno != EINTR)
			return fail_system(err, AL_ESYSTEM, "read", path);
		if (n > 0)
			al_text_add_bytes(out, block, (size_t)n);
	}
	return out->length <= limit
		|| al_fail(err, AL_EINPUT, "%s: has more than %zu bytes", path, limit);
}

bool al_file_read_stream(struct al_text *out, const char *path, size_t limit, struct al_error *err)
{
	struct stat info;
	const int fd = al_path_kind(path) == AL_PATH_OTHER
		? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
		: -1;

	if (fd < 0)
		return al_file_read(out, path, limit, err);
	const bool is_pipe = fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode)
		&& fcntl(fd, F_SETFL, 0) == 0;
	const bool ok = is_pipe ? read_all(fd, path, out, limit, err)
				: al_file_read(out, path, limit, err);
	close(fd);
	return ok;
}

/* ---- paths and folders ---- */

enum al_path_kind al_path_kind(const char *path)
{
	struct stat info;

	if (!*path)
		return AL_PATH_NONE;
	if (al_mount_find(path))
		return AL_PATH_FILE;
	if (al_mount_has_folder(path))
		return AL_PATH_FOLDER;
	errno = ENOENT;
	if (al_mount_hides(path))
		return AL_PATH_NONE;
	if (stat(path, &info) != 0)
		return is_dangling(path) ? AL_PATH_OTHER : AL_PATH_NONE;
	return S_ISREG(info.st_mode)	? AL_PATH_FILE
		: S_ISDIR(info.st_mode) ? AL_PATH_FOLDER
					: AL_PATH_OTHER;
}

struct names {
	struct al_arena *arena;
	const char **items;
	size_t n, room;
};

static void add_name(struct names *names, const char *name)
{
	*AL_APPEND(names->arena, names->items, names->n, names->room) = al_strdup(names->arena,
		name);
}

bool al_folder_list(struct al_arena *arena, const char *path, const char ***out, size_t *n,
	struct al_error *err)
{
	struct names names = {.arena = arena};
	const char *mounted;

	for (size_t i = 0; (mounted = al_mount_next(path, &i));)
		add_name(&names, mounted);
	DIR *stream = names.n > 0 ? NULL : opendir(path);
	if (names.n == 0 && !stream)
		return fail_system(err, AL_EINPUT, "open", path);
	for (struct dirent *entry; stream && (entry = readdir(stream));)
		add_name(&names, entry->d_name);
	if (stream)
		closedir(stream);
	*out = names.items;
	*n = names.n;
	return true;
}

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

	if (al_mount_now())
		return true;
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

/* ---- files in memory ---- */

static _Thread_local struct al_mount *current;

void al_mount_init(struct al_mount *mount)
{
	*mount = (struct al_mount){0};
	al_arena_init(&mount->arena);
}

void al_mount_finish(struct al_mount *mount)
{
	for (size_t i = 0; i < mount->n; i++)
		al_text_finish(&mount->items[i]->content);
	al_arena_finish(&mount->arena);
}

void al_mount_set(struct al_mount *mount)
{
	current = mount;
}

struct al_mount *al_mount_now(void)
{
	return current;
}

/* Slashes at the end don't count. */
static size_t path_length(const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	return length;
}

struct al_mounted *al_mount_add(struct al_mount *mount, const char *path)
{
	struct al_mounted *file = al_new(&mount->arena, struct al_mounted);

	file->path = al_strndup(&mount->arena, path, path_length(path));
	*AL_APPEND(&mount->arena, mount->items, mount->n, mount->room) = file;
	return file;
}

void al_mounted_add(struct al_mount *mount, struct al_mounted *file, const void *bytes,
	size_t length)
{
	*AL_APPEND(&mount->arena, file->pieces, file->n_pieces,
		file->pieces_room) = (struct al_extent){bytes, length};
	file->bytes += length;
}

struct al_mounted *al_mount_find(const char *path)
{
	for (size_t i = 0; current && i < current->n; i++) {
		struct al_mounted *file = current->items[i];
		if (file->path && !file->hides_folder && strcmp(file->path, path) == 0)
			return file;
	}
	return NULL;
}

/* What is after "FOLDER/" in a path; NULL: it is elsewhere. */
static const char *name_in(const char *folder, const char *path)
{
	const size_t length = path_length(folder);

	return path && strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1
										 : NULL;
}

const char *al_mount_next(const char *folder, size_t *i)
{
	while (current && *i < current->n) {
		const char *name = name_in(folder, current->items[(*i)++]->path);
		if (name)
			return name;
	}
	return NULL;
}

bool al_mount_has_folder(const char *path)
{
	size_t i = 0;

	return al_mount_next(path, &i);
}

bool al_mount_hides(const char *path)
{
	for (size_t i = 0; current && i < current->n; i++)
		if (current->items[i]->hides_folder && name_in(current->items[i]->path, path))
			return true;
	return false;
}

void al_mounted_read(const struct al_mounted *file, uint64_t offset, void *out, size_t length)
{
	char *to = out;

	for (const struct al_extent *piece = file->pieces; length > 0; piece++) {
		if (offset >= piece->length) {
			offset -= piece->length;
			continue;
		}
		const size_t left = piece->length - (size_t)offset;
		const size_t now = al_least(length, left);
		memcpy(to, (const char *)piece->bytes + offset, now);
		to += now;
		length -= now;
		offset = 0;
	}
}
