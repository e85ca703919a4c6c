/* What the commands on checkpoints share: a checkpoint opened with its family. */
#ifndef ATTNLEDGER_COMMANDS_CHECKPOINT_H
#define ATTNLEDGER_COMMANDS_CHECKPOINT_H

#include "commands/command.h"
#include "views/views.h"

struct opened {
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
bool opened_init(struct opened *opened, struct session *session,
	const struct layout_options *options, const char *path, const char *config, bool modules,
	struct al_error *err) AL_MUST_CHECK;
void opened_finish(struct opened *opened);

/* What every answer about a checkpoint says: sizes, hash of the header, family, what was left
 * out. */
void opened_note(const struct opened *opened, struct al_table *table);

/* ---- the file alone ---- */

/* Notes which file was read: its path, size, and a hash of its header, so that an answer can be
 * told from that of another file with the same name. */
void checkpoint_note(struct al_table *table, const struct al_checkpoint *checkpoint);

/* "1 tensor", "1,040,128 bytes": `what` is one of them. */
const char *count_of(struct al_arena *arena, uint64_t count, const char *what);

#endif
