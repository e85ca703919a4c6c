/* What the commands that read a checkpoint share. */
#ifndef ATTNLEDGER_COMMANDS_CHECKPOINT_H
#define ATTNLEDGER_COMMANDS_CHECKPOINT_H

#include "base/table.h"
#include "checkpoint/checkpoint.h"

/* Notes which file was read: its path, size, and a hash of its header, so that an answer can be
 * told from that of another file with the same name. */
void checkpoint_note(struct al_table *table, const struct al_checkpoint *checkpoint);

/* "1 tensor", "1,040,128 bytes": `what` is one of them. */
const char *count_of(struct al_arena *arena, uint64_t count, const char *what);

#endif
