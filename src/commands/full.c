/* The program that has all commands, with all libraries. */
#include "commands/program.h"
#include "answer/draw.h"
#include "answer/kernel.h"
#include "linalg/linalg.h"

#define COMMAND(name, program, group, summary) &al_command_##name,

static const struct al_command *const commands[] = {COMMANDS(COMMAND)};

const struct al_program al_full_program = {
	.commands = commands,
	.draw = al_draw_to_file,
	.set_threads = al_threads_set,
	.prepare = al_kernel_prepare,
};
