/* A command's line, run in this process: a new one for each of thousands of lines would cost more
 * than most of them do. */
#pragma once

#include "unit.h"

#include <unistd.h>

#include "commands/program.h"
#include "support/folder.h"

/* Returns the exit status. In the line "@" is the folder, "#" the file or folder `model` in it
 * that is asked about; no word holds a space. */
static inline int test_command_line(const char *line, const struct test_folder *folder,
	const char *model)
{
	/* Without what begins a program once more: that would be this test. */
	const struct al_program program = {.commands = al_full_program.commands,
		.set_threads = al_full_program.set_threads};
	char name[] = "attnledger", room[2048], *argv[32] = {name};
	size_t used = 0;
	int argc = 1;

	for (const char *p = line; *p; p++)
		if (*p == '@' || *p == '#')
			used += (size_t)snprintf(room + used, sizeof(room) - used, "%s%s%s",
				folder->path, *p == '#' ? "/" : "", *p == '#' ? model : "");
		else
			used += (size_t)snprintf(room + used, sizeof(room) - used, "%c", *p);
	for (char *word = strtok(room, " "); word; word = strtok(NULL, " ")) {
		assert_true((size_t)argc < sizeof(argv) / sizeof(*argv) - 1);
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	return al_command_line(argc, argv, &program);
}

static inline void test_exchange(int stream, int file, int *kept)
{
	*kept = dup(stream);
	assert_true(*kept >= 0 && dup2(file, stream) == stream);
}

static inline void test_put_back(int stream, int kept)
{
	assert_true(dup2(kept, stream) == stream && close(kept) == 0);
}

/* The same, with what it prints and what it says in two files. */
static inline int test_command_line_into(const char *line, const struct test_folder *folder,
	const char *model, int out_file, int err_file)
{
	int kept_out, kept_err;

	fflush(NULL);
	test_exchange(STDOUT_FILENO, out_file, &kept_out);
	test_exchange(STDERR_FILENO, err_file, &kept_err);
	const int status = test_command_line(line, folder, model);
	fflush(NULL);
	test_put_back(STDOUT_FILENO, kept_out);
	test_put_back(STDERR_FILENO, kept_err);
	return status;
}
