/* A folder for a test's files. */
#include "support/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int is_done, const char *what)
{
	if (is_done)
		return;
	perror(what);
	abort();
}

void test_folder_make(struct test_folder *folder)
{
	static const char pattern[] = "/attnledger-test-XXXXXX";
	const char *parent = getenv("TMPDIR");

	if (!parent || !*parent || strlen(parent) + sizeof(pattern) > sizeof(folder->path))
		parent = "/tmp";
	snprintf(folder->path, sizeof(folder->path), "%s%s", parent, pattern);
	must(mkdtemp(folder->path) != NULL, folder->path);
}

static int is_itself_or_above(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

size_t test_folder_count(const char *path)
{
	DIR *stream = opendir(path);
	size_t n = 0;

	must(stream != NULL, path);
	for (struct dirent *entry; (entry = readdir(stream));)
		n += !is_itself_or_above(entry->d_name);
	closedir(stream);
	return n;
}

void test_folder_remove(struct test_folder *folder)
{
	DIR *stream = opendir(folder->path);

	must(stream != NULL, folder->path);
	for (struct dirent *entry; (entry = readdir(stream));) {
		char path[512];
		if (is_itself_or_above(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder->path, entry->d_name);
		must(unlink(path) == 0, path);
	}
	closedir(stream);
	must(rmdir(folder->path) == 0, folder->path);
}

char *test_path(char path[256], const struct test_folder *folder, const char *name)
{
	snprintf(path, 256, "%s/%s", folder->path, name);
	return path;
}

void test_write(const char *path, const void *bytes, size_t length)
{
	FILE *file = fopen(path, "wb");

	must(file != NULL, path);
	must(fwrite(bytes, 1, length, file) == length, path);
	must(fclose(file) == 0, path);
}
