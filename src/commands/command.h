/* Commands: one file a subcommand, one descriptor each. */
#ifndef ATTNLEDGER_COMMANDS_COMMAND_H
#define ATTNLEDGER_COMMANDS_COMMAND_H

/* Runs the command line; the result is the exit status. */
int al_command_line(int argc, char **argv);

#endif
