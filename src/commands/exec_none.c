/* The light program alone, of a build without the full one. */
#include "commands/program.h"

int al_exec_full(const char *command, char **argv)
{
	(void)argv;
	fprintf(stderr, "attnledger %s: this is the light program; use the full one\n", command);
	return AL_ESYSTEM;
}
