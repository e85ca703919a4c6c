/* A checkpoint with a family laid over it, as the commands on checkpoints open it. */
#ifndef ATTNLEDGER_COMMANDS_LAID_H
#define ATTNLEDGER_COMMANDS_LAID_H

#include "commands/command.h"
#include "views/views.h"

struct laid {
	struct al_checkpoint checkpoint;
	struct al_model_view view;
};

/* --heads and --layout: what a checkpoint without a config doesn't say. */
struct layout_options {
	const char *heads, *layout;
};

extern const struct option_row layout_rows[];

#define OPTIONS_LAID (OPTION(OPT_HEADS) | OPTION(OPT_LAYOUT))
struct layout_options layout_options_of(const struct arguments *arguments);

/* Opens a checkpoint with a family over it; `config` NULL: its own, or none. `modules`: its
 * attention modules too. */
bool laid_open(struct laid *laid, struct session *session, const struct layout_options *options,
	const char *path, const char *config, bool modules, struct al_error *err) AL_MUST_CHECK;
void laid_close(struct laid *laid);

/* What every answer about a checkpoint says: sizes, hash of the header, family, what was left
 * out. */
void laid_note(const struct laid *laid, struct al_table *table);

#endif
