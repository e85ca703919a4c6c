/* What people read of an audit: the summary and the columns that carry it. */
#ifndef ATTNLEDGER_COMMANDS_BRIEF_H
#define ATTNLEDGER_COMMANDS_BRIEF_H

#include "commands/command.h"

/* Copies the short form of one of the audit's tables into the answer; those that have none stay
 * out. */
void brief_add(struct session *session, const struct al_table *table);

#endif
