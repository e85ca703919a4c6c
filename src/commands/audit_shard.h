/* audit --shard I/N: a part of an audit, measured and written for `merge`. */
#ifndef ATTNLEDGER_COMMANDS_AUDIT_SHARD_H
#define ATTNLEDGER_COMMANDS_AUDIT_SHARD_H

#include "commands/audit_run.h"

bool al_audit_shard(struct al_session *session, const struct al_audit_asked *options,
	const char *path, const char *config, struct al_error *err) AL_MUST_CHECK;

#endif
