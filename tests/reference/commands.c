/* Runs each line of standard input as a command line, in this process; no word has a space. After
 * what it answers and what it says of errors come a line's end, "exit" and its status. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/program.h"

static int run(char *line)
{
	/* Without what begins a program once more, which main does: that would be this one. */
	const struct al_program program = {.commands = al_full_program.commands,
		.set_threads = al_full_program.set_threads};
	enum { MOST_WORDS = 64 };
	char name[] = "attnledger", *argv[MOST_WORDS] = {name};
	int argc = 1;

	for (char *word = strtok(line, " \n"); word && argc < MOST_WORDS - 1;
		word = strtok(NULL, " \n"))
		argv[argc++] = word;
	return al_command_line(argc, argv, &program);
}

int main(int argc, char **argv)
{
	char line[1 << 14];

	(void)argc;
	if (!al_full_program.prepare(argv, NULL) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		const int status = run(line);
		fflush(NULL);
		printf("\nexit %d\n", status);
		fflush(stdout);
	}
	return 0;
}
