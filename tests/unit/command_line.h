/* A command's line, run in this process; a test that goes on afterwards runs it in a child. */
#pragma once

#include "unit.h"

#include "commands/command.h"
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
