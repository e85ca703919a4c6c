/* The programs: what reads the arguments of a process, and prints and writes its answer. */
#pragma once

#include "answer/session.h"

/* The system has no memory left: prints that in one line, removes the temporary files of open
 * outputs, and ends the program with AL_ESYSTEM. */
void al_end_exhausted(size_t bytes);

/* What a program has of all this. */
struct al_program {
	bool is_light;
	const struct al_command *const
		*commands; /* in the order of COMMANDS; NULL: the full program's */
	al_drawer *draw; /* NULL: the full program does */
	void (*set_threads)(int n_threads); /* 0: as many as there are cores; NULL: it has none */
	/* Before a command that computes; may begin the program once more. NULL: nothing to do. */
	bool (*prepare)(char **argv, struct al_error *err);
};

extern const struct al_program al_full_program;

/* Runs the command line; the result is the exit status. */
int al_command_line(int argc, char **argv, const struct al_program *program);

/* The folder of this program, with the last slash; empty if unknown. */
void al_find_own_folder(char *out, size_t size);

/* Goes on as the full program, with the same arguments. Returns only where that can't be, the exit
 * status. */
int al_exec_full(const char *command, char **argv);
