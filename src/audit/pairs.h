/* Pairs of heads, the most similar first, and the tables of them. */
#ifndef ATTNLEDGER_AUDIT_PAIRS_H
#define ATTNLEDGER_AUDIT_PAIRS_H

#include "audit/audit.h"
#include "audit/subspaces.h"

enum { AL_N_READERS = AL_OUTPUT }; /* query, key, value: what reads what a head writes */

struct al_head_pair {
	const struct al_attention *a, *b;
	size_t head_a, head_b;
	double cosine[AL_N_FORMS], composition[AL_N_READERS]; /* NAN: there is none */
	struct al_angles angles[AL_N_PROJECTIONS];
	bool has_angles[AL_N_PROJECTIONS], is_new;
};

/* The best so far, of those more alike than `least`; `most` 0 keeps all. */
struct al_ranking {
	struct al_head_pair *items;
	size_t n, room, most, n_seen;
	double least; /* AL_LIKE_NOTHING: all are */
};

enum { AL_LIKE_NOTHING = -2 };

void al_ranking_finish(struct al_ranking *ranking);

/* A module in memory and, once they are asked for, which of its heads need no bases, and those of
 * the others. */
struct al_pair_side {
	const struct al_audit_module *module;
	bool *is_even[AL_N_PROJECTIONS];
	struct al_bases bases[AL_N_PROJECTIONS];
};

void al_pair_side_finish(struct al_pair_side *side);

/* What is known of all pairs [heads of a][heads of b]; without data where there is nothing. */
struct al_pair_scores {
	struct al_view cosine[AL_N_FORMS], composition[AL_N_READERS];
};

/* Offers pairs of heads; a == b: each two of one module once. Those that stay get their principal
 * angles. */
bool al_ranking_offer(struct al_ranking *ranking, struct al_pair_side *a, struct al_pair_side *b,
	const struct al_pair_scores *scores, struct al_error *err) AL_MUST_CHECK;

void al_pairs_add_columns(struct al_table *table, bool with_composition);
void al_pairs_add_rows(struct al_table *table, const struct al_ranking *ranking);

/* Says of how many pairs the rows are, where they aren't all. */
void al_pairs_note(struct al_table *table, size_t n_seen);

/* How alike the pair of a row is; sorts rows by that, equal ones as they stand, and keeps the first
 * `most`, or all. */
double al_pairs_likeness(const struct al_table *table, size_t row);
void al_pairs_cut(struct al_table *table, size_t most);

#endif
