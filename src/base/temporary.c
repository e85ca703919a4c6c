/* Temporary files beside the files that they become. */
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"

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

/* Locked, and still there: before the lock another program may have taken it for a leftover. Where
 * there are no locks nobody can. */
static bool hold(int file)
{
	struct stat info;

	if (flock(file, LOCK_EX | LOCK_NB) != 0)
		return errno != EWOULDBLOCK;
	return fstat(file, &info) != 0 || info.st_nlink > 0;
}

static int try_open(char **name, const char *path)
{
	struct al_text text;

	al_text_init(&text);
	add_folder(&text, path);
	add_prefix(&text);
	al_text_add(&text, "XXXXXX");
	int file = mkstemp(text.data);
	*name = text.data;
	return file;
}

int al_temporary_open(char **name, const char *path)
{
	for (;;) {
		int file = try_open(name, path);
		if (file >= 0 && hold(file))
			return file;
		if (file >= 0) {
			unlink(*name);
			close(file);
		}
		free(*name);
		*name = NULL;
		if (file < 0)
			return -1;
	}
}

/* ---- tidying ---- */

static void remove_left(int folder, const char *name)
{
	int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (file < 0)
		return;
	if (flock(file, LOCK_EX | LOCK_NB) == 0)
		unlinkat(folder, name, 0);
	close(file);
}

static void tidy(DIR *folder)
{
	struct al_text prefix;

	al_text_init(&prefix);
	add_prefix(&prefix);
	for (struct dirent *entry; (entry = readdir(folder));)
		if (strncmp(entry->d_name, prefix.data, prefix.length) == 0
			&& strlen(entry->d_name) == prefix.length + strlen("XXXXXX"))
			remove_left(dirfd(folder), entry->d_name);
	al_text_finish(&prefix);
}

void al_temporary_tidy(const char *path)
{
	static uint64_t tidied; /* the folder's name before: outputs come by the hundred */
	struct al_text name;

	al_text_init(&name);
	add_folder(&name, path);
	uint64_t hash = al_hash(AL_HASH_EMPTY, name.data, name.length);
	DIR *folder = hash == tidied ? NULL : opendir(name.length > 0 ? name.data : ".");
	al_text_finish(&name);
	if (!folder)
		return;
	tidied = hash;
	tidy(folder);
	closedir(folder);
}
