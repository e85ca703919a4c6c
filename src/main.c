/* attnledger: counts and audits attention. This program answers what needs exact numbers alone, and
 * leaves the rest to the full one. */
#include "commands/command.h"

#define HAS_LIGHT(name) &al_command_##name
#define HAS_FULL(name) NULL
#define COMMAND(name, program, summary) HAS_##program(name),

int main(int argc, char **argv)
{
	static const struct al_command *const commands[] = {COMMANDS(COMMAND)};
	static const struct al_program light = {.commands = commands};

	return al_command_line(argc, argv, &light);
}
