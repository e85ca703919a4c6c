/* The program that has all commands, with all libraries. */
#include "commands/command.h"
#include "commands/kernel.h"
#include "linalg/linalg.h"

#define COMMAND(name, program, summary) &command_##name,

static const struct command *const commands[] = {COMMANDS(COMMAND)};

const struct program full_program = {
	.commands = commands,
	.set_threads = al_threads_set,
	.prepare = kernel_prepare,
};
