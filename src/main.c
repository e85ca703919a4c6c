/* attnledger: keeps the books of attention. */
#include "commands/command.h"

int main(int argc, char **argv)
{
	return al_command_line(argc, argv);
}
