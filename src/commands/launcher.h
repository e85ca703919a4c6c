/* Which of several processes this one is: --shard I/N, or as a launcher numbers it. */
#ifndef ATTNLEDGER_COMMANDS_LAUNCHER_H
#define ATTNLEDGER_COMMANDS_LAUNCHER_H

#include <stdint.h>

#include "base/error.h"

enum { AL_MOST_SHARDS = 9999 };

struct al_shard_of {
	int64_t shard, n_shards; /* I, from 1 on, and N */
};

/* "3/4", or "auto": rank 2 of 4 as mpirun or srun set it in the environment. */
bool al_shard_of_read(const char *text, struct al_shard_of *out,
	struct al_error *err) AL_MUST_CHECK;

#endif
