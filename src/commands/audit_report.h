/* audit --report FILE: the page of an audit. */
#ifndef ATTNLEDGER_COMMANDS_AUDIT_REPORT_H
#define ATTNLEDGER_COMMANDS_AUDIT_REPORT_H

#include "commands/audit_run.h"

/* Adds the page to the files where --report asks for one; the tables are finished and noted. */
void al_audit_report_add(struct al_audit_run *run);

#endif
