/* Two checkpoints side by side: each head and the one that matches it. */
#pragma once

#include "audit/audit.h"

void al_against_add_columns(struct al_table *table);

/* Do two modules have the same heads on the same spaces? */
bool al_against_check(const struct al_attention *a, const struct al_attention *b,
	struct al_error *err) AL_MUST_CHECK;

/* A row for each head of `a` with its match among the heads of `b`: the norms of both forms, their
 * cosine, and ||A - B||/||A||. The modules passed the check above. */
bool al_against_add_module(const struct al_audit_module *a, const struct al_audit_module *b,
	struct al_table *table, struct al_error *err) AL_MUST_CHECK;
