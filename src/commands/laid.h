/* A checkpoint with a family laid over it, as the commands on checkpoints open it. */
#ifndef ATTNLEDGER_COMMANDS_LAID_H
#define ATTNLEDGER_COMMANDS_LAID_H

#include "commands/command.h"
#include "views/views.h"

struct laid {
	struct al_checkpoint checkpoint;
	struct al_model_view view;
};

struct layout_options {
	const char *heads, *layout; /* what a checkpoint without a config doesn't say */
	const char *modules; /* NULL: all */
};

/* --heads and --layout; --modules. */
extern const struct option_row layout_rows[], module_rows[];

/* `largest` 0: as large as a number may be. */
#define SEED_ROW(type, at, largest) \
	OPTION_COUNT(type, at, "seed", "N", "seed of the random draws (default 1)", .fallback = 1, \
		.most = largest)

/* Opens a checkpoint with a family over it; `config` NULL: its own, or none. `modules`: its
 * attention modules too. */
bool laid_open(struct laid *laid, struct session *session, const struct layout_options *options,
	const char *path, const char *config, bool modules, struct al_error *err) AL_MUST_CHECK;
void laid_close(struct laid *laid);

/* What every answer about a checkpoint says: sizes, hash of the header, family, what was left
 * out. */
void laid_note(const struct laid *laid, struct al_table *table);

#endif
