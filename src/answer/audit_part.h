/* What a part of an audit and the merging of parts must come to alike: who measures which module,
 * and what the answer hangs on. */
#pragma once

#include "answer/audit_run.h"
#include "audit/shard/shard.h"

enum { AL_MOST_SHARDS = 9999 };

struct al_shard_of {
	int64_t shard, n_shards; /* I, from 1 on, and N */
};

/* launcher.c: "3/4", or "auto": rank 2 of 4 as mpirun or srun set it in the environment. */
bool al_shard_of_read(struct al_arena *arena, const char *text, struct al_shard_of *out,
	struct al_error *err) AL_MUST_CHECK;

/* The shard, from 0 on, of each module that the run chooses, by size. */
const size_t *al_audit_deal_modules(const struct al_audit_run *run, int64_t n_shards);

/* "0.json": the file of a module's tables, as manifests list it. */
const char *al_shard_module_file(const struct al_audit_run *run,
	const struct al_attention *attention);

/* Adds all that shapes the answer: the program, the checkpoint's header, options, and fingerprints
 * of what is read besides the checkpoint: config, layout, calibration. */
bool al_shard_summarize(const struct al_audit_run *run, struct al_shard_file *shard,
	struct al_error *err) AL_MUST_CHECK;

/* Of a text or of a file's bytes, as facts and tables hold it. */
const char *al_shard_fingerprint(struct al_arena *arena, const struct al_text *text);
