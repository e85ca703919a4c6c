/* Of POSIX what WASI's C library declares and lacks. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <wasi/api.h>

int flock(int file, int operation)
{
	(void)file;
	(void)operation;
	return 0;
}

int fchmod(int file, mode_t mode)
{
	(void)file;
	(void)mode;
	return 0;
}

int uname(struct utsname *machine)
{
	(void)machine;
	return -1;
}

/* Writes six letters over the end of a name. */
static void draw(char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	uint8_t drawn[6] = {0};
	char *end = name + strlen(name) - sizeof(drawn);

	if (__wasi_random_get(drawn, sizeof(drawn)) != 0)
		abort();
	for (size_t i = 0; i < sizeof(drawn); i++)
		end[i] = letters[drawn[i] % 64];
}

int mkstemp(char *name)
{
	int file;

	do {
		draw(name);
		file = open(name, O_RDWR | O_CREAT | O_EXCL);
	} while (file < 0 && errno == EEXIST);
	return file;
}

char *mkdtemp(char *name)
{
	int status;

	do {
		draw(name);
		status = mkdir(name, 0700);
	} while (status != 0 && errno == EEXIST);
	return status == 0 ? name : NULL;
}

/* Who asks wants to remove what it wrote. */
char *realpath(const char *path, char *resolved)
{
	return resolved ? strcpy(resolved, path) : strdup(path);
}

/* Paths from here are paths from the root, which is what WASI opens. */
__attribute__((constructor)) static void enter(void)
{
	const char *folder = getenv("PWD");

	if (folder && chdir(folder) != 0)
		abort();
}
