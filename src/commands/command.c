/* The command line. */
#include "commands/command.h"

#include <stdio.h>

#include "attnledger.h"

int al_command_line(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("attnledger %s\n", al_version());
	return 0;
}
