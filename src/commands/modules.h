/* The attention modules of a checkpoint and how their heads lie, for `inspect`. */
#ifndef ATTNLEDGER_COMMANDS_MODULES_H
#define ATTNLEDGER_COMMANDS_MODULES_H

#include "commands/command.h"

/* Adds the table of modules where a family fits; where none does, a note to `table` says why. A family or
 * heads that the user asks for and that don't fit are an error. */
bool modules_list(struct session *session, struct al_table *table, struct al_error *err) AL_MUST_CHECK;

#endif
