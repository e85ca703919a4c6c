/* attnledger-full: all commands, with all libraries. */
#include "commands/command.h"

int main(int argc, char **argv)
{
	return al_command_line(argc, argv, &al_full_program);
}
