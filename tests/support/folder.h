/* A folder for a test's files, and files of given bytes in it. What fails ends the test. */
#pragma once

#include <stddef.h>

struct test_folder {
	char path[64];
};

void test_folder_make(struct test_folder *folder);

/* Removes the folder and the files in it (no folders below it). */
void test_folder_remove(struct test_folder *folder);

/* How many files and folders are in it. */
size_t test_folder_count(const char *path);

/* "FOLDER/NAME", formatted; the caller's buffer holds 256 bytes. */
char *test_path(char path[256], const struct test_folder *folder, const char *name);

void test_write(const char *path, const void *bytes, size_t length);
