/* The figures of an audit. */
#ifndef ATTNLEDGER_COMMANDS_AUDIT_FIGURES_H
#define ATTNLEDGER_COMMANDS_AUDIT_FIGURES_H

#include "audit/measurement.h"
#include "commands/files.h"

/* Adds to the files what the tables (beside al_measurements, NULL where not wanted) hold, in a
 * folder, as PDF, SVG and PNG: each measurement says which figures its table makes. */
bool al_audit_figures_draw(struct al_files *files, const char *folder,
	struct al_table *const *tables, struct al_error *err) AL_MUST_CHECK;

#endif
