/* Writing the index of a sharded folder; index.c tells the format. */
#ifndef ATTNLEDGER_CHECKPOINT_INDEX_H
#define ATTNLEDGER_CHECKPOINT_INDEX_H

#include "formats/checkpoint.h"

/* Says in which shard each tensor is, and how many bytes they are. Name, dtype, shape and shard of
 * a tensor count; `shards` are the names of the files. */
bool al_index_write(const char *path, const struct al_tensor *tensors, size_t n,
	const char *const *shards, struct al_error *err) AL_MUST_CHECK;

#endif
