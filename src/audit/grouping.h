/* Which heads share a key and a value: groups of one size at the least error. */
#pragma once

#include "base/base.h"
#include "linalg/linalg.h"

/* The cost of one group of `n` heads; costs of groups add up. Called from several threads. */
struct al_group_cost {
	bool (*find)(const void *context, const size_t *heads, size_t n, double *cost,
		struct al_error *err);
	const void *context;
};

/* Pairs of so many heads are matched exactly. */
enum { AL_MOST_MATCHED = 20 };

/* costs[i][j] = costs[j][i] of heads i and j, [n][n]. */
bool al_pair_costs(struct al_scratch *scratch, const struct al_group_cost *cost, size_t n,
	struct al_matrix *costs, struct al_error *err) AL_MUST_CHECK;

/* order[n]: heads, `size` neighbors per group; size divides n. Pairs (size 2): the matching of
 * least cost by dynamic programming over subsets for up to AL_MOST_MATCHED heads, beyond them by
 * exchanges. Larger groups: exchanges of heads between groups that promise most by the costs of
 * pairs, made where the cost of the two groups falls. Never worse than neighbors, whose cost is
 * `neighbors`, or NAN where it isn't known. */
bool al_group_heads(const struct al_group_cost *cost, struct al_matrix pairs, size_t size,
	double neighbors, size_t *order, struct al_error *err) AL_MUST_CHECK;

/* "0 3, 1 2": groups and their heads in rising order. */
void al_group_print(const size_t *order, size_t n, size_t size, struct al_text *out);
