/* Heads that a module can do without: one that does nothing is dropped, one that attends as another
 * does is merged into it, whose W_O takes its outputs too.
 *
 * Head j merged into i scores as i does, and of V_j O_j^T what V_i spans stays: exact where the
 * heads are one up to a change of basis. Errors are relative to all heads' forms, on [x, 1] where
 * there are biases, over all offsets under rotary positions. */
#pragma once

#include "audit/audit.h"

/* The largest error, in percent of the module's scores and values, at which heads are removable. */
enum { AL_REMOVABLE_PERCENT = 10 };

struct al_merge {
	size_t head, twin; /* twin == head: it is silent */
	double qk_cosine, ov_cosine; /* of a head and its twin; NAN: silent */
	double output_share; /* of the squares of all heads' value forms */
	double qk_squared, ov_squared; /* what the head costs, relative to all heads */
	double cumulative_error; /* with all before: the larger of scores' and values' */
};

struct al_merging {
	struct al_merge *steps; /* the cheapest next one each; the scratch's */
	size_t n;
	size_t n_heads;
};

/* Steps up to a cumulative error of `most`, then those that merge heads which are half their twin:
 * at least half of the squares of its scores and of its values lie along the twin's (both cosines
 * reach 0.707). At least one head stays. Heads whose scores are not known from their forms alone
 * (norms of queries and keys, latent keys) have no twins. */
bool al_merging_find(struct al_merging *merging, struct al_scratch *scratch,
	struct al_audit_module *module, double most, struct al_error *err) AL_MUST_CHECK;

/* The first steps whose error is at most `most`. */
size_t al_merging_count(const struct al_merging *merging, double most);

/* "5 into 2, without 7" */
void al_merging_print(const struct al_merging *merging, size_t n, struct al_text *out);
