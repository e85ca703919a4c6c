/* What a part of an audit and the merging of parts must come to alike: who measures which module,
 * and which files the answer hangs on. */
#ifndef ATTNLEDGER_COMMANDS_AUDIT_PART_H
#define ATTNLEDGER_COMMANDS_AUDIT_PART_H

#include "commands/audit_run.h"
#include "fragment/manifest.h"

/* The shard, from 1 on, of each of the checkpoint's modules, by size; 0: it isn't chosen. */
const int64_t *al_audit_deal_modules(const struct al_audit_run *run, int64_t n_shards);

/* Is the tensor this shard's to be counted for numbers that aren't finite? Those of modules are
 * their shard's, others are dealt by size. Beside the checkpoint's tensors. */
const bool *al_audit_deal_tensors(const struct al_audit_run *run, const int64_t *shards,
	int64_t shard, int64_t n_shards);

/* Fingerprints of what shapes the answer beside the checkpoint and the options: config, layout,
 * calibration. */
bool al_audit_inputs(const struct al_audit_run *run, struct al_fragment_input **out, size_t *n,
	struct al_error *err) AL_MUST_CHECK;

#endif
