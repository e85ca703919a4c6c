/* What a part of an audit and the merging of parts must come to alike: who measures which module,
 * what the answer hangs on, and how files are called. */
#ifndef ATTNLEDGER_COMMANDS_AUDIT_PART_H
#define ATTNLEDGER_COMMANDS_AUDIT_PART_H

#include "commands/audit_run.h"
#include "audit/shard/shard.h"

enum { AL_MOST_SHARDS = 9999 };

struct al_shard_of {
	int64_t shard, n_shards; /* I, from 1 on, and N */
};

/* "3/4", or "auto": rank 2 of 4 as mpirun or srun set it in the environment. */
bool al_shard_of_read(const char *text, struct al_shard_of *out,
	struct al_error *err) AL_MUST_CHECK;

/* The shard, from 1 on, of each of the checkpoint's modules, by size; 0: it isn't chosen. */
const int64_t *al_audit_deal_modules(const struct al_audit_run *run, int64_t n_shards);

/* Is the tensor this shard's to be counted for numbers that aren't finite? Those of modules are
 * their shard's, others are dealt by size. Beside the checkpoint's tensors. */
const bool *al_audit_deal_tensors(const struct al_audit_run *run, const int64_t *shards,
	int64_t shard, int64_t n_shards);

/* Says what shapes the answer: the program, the checkpoint's header, options, and fingerprints of
 * what is read beside the checkpoint: config, layout, calibration. */
bool al_audit_summarize(const struct al_audit_run *run, struct al_shard_file *shard,
	struct al_error *err) AL_MUST_CHECK;

/* "shard-1-of-4" */
const char *al_shard_name(struct al_arena *arena, int64_t shard, int64_t n_shards);

/* Of a text or of a file's bytes, as facts and tables hold it. */
const char *al_shard_fingerprint(struct al_arena *arena, const struct al_text *text);

#endif
