/* What `audit` says of pairs: heads of different modules, and heads of two checkpoints. */
#ifndef ATTNLEDGER_COMMANDS_PAIRS_H
#define ATTNLEDGER_COMMANDS_PAIRS_H

#include "audit/audit.h"
#include "commands/checkpoint.h"

/* The modules that were measured. */
struct al_measured_modules {
	struct al_session *session;
	const struct al_layout_options *layout;
	const struct al_audit *audit;
	const struct al_attention **modules;
	size_t n_modules;
};

/* --across: fills a table that the caller finishes, on failure too. */
bool al_pairs_across(const struct al_measured_modules *pairs, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;

/* --against: likewise. */
bool al_pairs_against(const struct al_measured_modules *pairs, const char *path,
	struct al_table *table, struct al_error *err) AL_MUST_CHECK;

#endif
