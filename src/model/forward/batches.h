/* Batches: whole sequences, so many that their activations fit into memory. */
#ifndef ATTNLEDGER_FORWARD_BATCHES_H
#define ATTNLEDGER_FORWARD_BATCHES_H

#include "model/forward/forward.h"

/* Tokens of one batch, unless one sequence has more. */
enum { AL_BATCH_TOKENS = 4096 };

/* Some neighbours of a batch; `begin` is the owner's memory. */
struct al_batch_part {
	struct al_batch batch;
	size_t *begin;
};

/* The sequences from number `first` on. */
void al_batch_part_init(struct al_batch_part *part, const struct al_batch *all, size_t first);
void al_batch_part_finish(struct al_batch_part *part);

/* targets[i] is the token after token i, or -1 behind a sequence's last. The caller frees it. */
int32_t *al_batch_targets(const struct al_batch *batch);

#endif
