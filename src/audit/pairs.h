/* Pairs of heads, the most similar first, and the tables of them. */
#pragma once

#include "audit/audit.h"
#include "audit/subspaces.h"

enum { AL_N_READERS = AL_OUTPUT }; /* query, key, value: what reads what a head writes */

/* A module in memory and, once they are asked for, which of its heads need no bases, and those of
 * the others. */
struct al_pair_side {
	const struct al_audit_module *module;
	const bool *is_even[AL_N_PROJECTIONS];
	struct al_bases bases[AL_N_PROJECTIONS];
	struct al_scratch scratch; /* theirs */
};

/* What is known of all pairs [heads of a][heads of b]; without data where there is nothing. */
struct al_pair_scores {
	struct al_matrix likeness[AL_N_FORMS]; /* cosines of forms; on tokens the correlation of
						  logits and CKA of outputs */
	struct al_matrix composition[AL_N_READERS];
};

/* NAN: there is none. */
double al_pair_score(struct al_matrix scores, size_t i, size_t j);

/* How alike one module's heads are. */
bool al_module_likeness(struct al_scratch *scratch, const struct al_audit *audit,
	struct al_audit_module *module, struct al_pair_scores *out,
	struct al_error *err) AL_MUST_CHECK;

/* `basis`: AL_BY_WEIGHTS or AL_ON_TOKENS. */
void al_pairs_add_columns(struct al_table *table, unsigned basis, bool with_composition);

/* Adds pairs of heads with their principal angles; a == b: each two of one module once. With `most`
 * above 0 only so many rows stay, the most similar, in that order; of equal ones those that came
 * first. */
bool al_pairs_add(struct al_table *table, size_t most, struct al_pair_side *a,
	struct al_pair_side *b, const struct al_pair_scores *scores,
	struct al_error *err) AL_MUST_CHECK;

/* Sorts rows so, and cuts them. Of how many pairs they are is noted where they aren't all. */
void al_pairs_finish(struct al_table *table, size_t most, size_t n_seen);
