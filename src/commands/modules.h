/* The attention modules of a checkpoint and how their heads lie, for `inspect`. */
#ifndef ATTNLEDGER_COMMANDS_MODULES_H
#define ATTNLEDGER_COMMANDS_MODULES_H

#include "commands/checkpoint.h"

/* Adds the table of modules where a family fits; where none does, a note to `table` says why. Where
 * there is no such table, or the user names it with --only, or gives a family or heads that don't
 * fit, that is an error. */
bool al_modules_list(struct al_session *session, const struct al_layout_options *layout,
	struct al_checkpoint *checkpoint, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;

#endif
