/* Temporary files next to their targets. */
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/base.h"
#include "base/hash.h"

/* The beginning of all names of this machine; nothing in it is of the target's name, which may be
 * as long as a name can be. */
static void add_prefix(struct al_text *out)
{
	struct utsname machine = {0};

	uname(&machine);
	uint64_t hash = al_hash(AL_HASH_EMPTY, machine.nodename, strlen(machine.nodename));
	al_text_addf(out, ".attnledger-%08" PRIx32 "-", (uint32_t)hash);
}

static void add_folder(struct al_text *out, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		al_text_add_bytes(out, path, (size_t)(slash - path) + 1);
}

/* ---- making ---- */

/* Locked, and still there: before the lock another program may have taken it for a leftover.
 * Without locks no program can. */
static bool hold(int file)
{
	struct stat info;

	if (flock(file, LOCK_EX | LOCK_NB) != 0)
		return errno != EWOULDBLOCK;
	return fstat(file, &info) != 0 || info.st_nlink > 0;
}

static const char ANY[] = "XXXXXX"; /* what mkstemp puts a name for */

char *al_temporary_name(struct al_arena *arena, const char *path)
{
	AL_TEXT(text);
	add_folder(&text, path);
	add_prefix(&text);
	al_text_add(&text, ANY);
	return al_strdup(arena, text.data);
}

static int make(char *name, bool is_folder)
{
	if (!is_folder)
		return mkstemp(name);
	return mkdtemp(name) ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

int al_temporary_make(char *name, bool is_folder)
{
	for (;;) {
		const int file = make(name, is_folder);
		if (file < 0 || hold(file))
			return file;
		remove(name);
		close(file);
		strcpy(name + strlen(name) - strlen(ANY), ANY);
	}
}

bool al_temporary_write(int file, int64_t at, const void *bytes, size_t length)
{
	const char *begin = bytes, *next = begin;

	while (length > 0) {
		const ssize_t n = at < 0 ? write(file, next, length)
					 : pwrite(file, next, length, (off_t)at + (next - begin));
		if (n < 0 && errno != EINTR)
			return false;
		next += al_most(n, 0);
		length -= (size_t)al_most(n, 0);
	}
	return true;
}

/* ---- tidying ---- */

/* The files of a folder; there are no folders in it. */
static void remove_files(int folder)
{
	DIR *files = fdopendir(dup(folder));

	if (!files)
		return;
	for (struct dirent *entry; (entry = readdir(files));)
		unlinkat(folder, entry->d_name, 0);
	closedir(files);
}

static void remove_left(int folder, const char *name)
{
	enum { HOW = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
	int file = openat(folder, name, O_RDWR | HOW);
	const bool is_folder = file < 0 && errno == EISDIR;

	if (is_folder)
		file = openat(folder, name, O_RDONLY | O_DIRECTORY | HOW);
	if (file < 0)
		return;
	if (flock(file, LOCK_EX | LOCK_NB) == 0) {
		if (is_folder)
			remove_files(file);
		unlinkat(folder, name, is_folder ? AT_REMOVEDIR : 0);
	}
	close(file);
}

static void tidy(DIR *folder)
{
	AL_TEXT(prefix);
	add_prefix(&prefix);
	for (struct dirent *entry; (entry = readdir(folder));)
		if (strncmp(entry->d_name, prefix.data, prefix.length) == 0
			&& strlen(entry->d_name) == prefix.length + strlen(ANY))
			remove_left(dirfd(folder), entry->d_name);
}

void al_temporary_tidy(const char *path)
{
	static uint64_t tidied; /* the folder's name before: outputs come by the hundred */

	AL_TEXT(name);
	add_folder(&name, path);
	uint64_t hash = al_hash(AL_HASH_EMPTY, name.data, name.length);
	DIR *folder = hash == tidied ? NULL : opendir(name.length > 0 ? name.data : ".");
	if (!folder)
		return;
	tidied = hash;
	tidy(folder);
	closedir(folder);
}
