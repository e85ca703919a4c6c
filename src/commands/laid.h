/* A checkpoint with a family laid over it, as the commands on checkpoints open it. */
#ifndef ATTNLEDGER_COMMANDS_LAID_H
#define ATTNLEDGER_COMMANDS_LAID_H

#include "commands/command.h"
#include "views/views.h"

struct laid {
	struct al_checkpoint checkpoint;
	struct al_model_view view;
};

/* The options that `laid_open` reads. */
#define OPTIONS_LAID (OPTION(OPT_HEADS) | OPTION(OPT_LAYOUT))

/* Opens the checkpoint of the first word with the config of the second, if there is one; --heads
 * and
 * --layout apply. `modules`: its attention modules too. */
bool laid_open(struct laid *laid, struct session *session, bool modules,
	struct al_error *err) AL_MUST_CHECK;
void laid_close(struct laid *laid);

/* What every answer about a checkpoint says: sizes, hash of the header, family, what was left
 * out. */
void laid_note(const struct laid *laid, struct al_table *table);

#endif
