/* Heads that become multiples of one projection for each group of them: A'_i = M diag(f_i), M the
 * sum of A_b diag(e_b) over the group. The mean of n heads is that with all e = 1 and f = 1/n. */
#pragma once

#include "audit/stacks.h"

struct al_multiples {
	struct al_view heads, gram; /* A, all heads side by side, `width` columns each; A^T A */
	size_t n, width; /* n: how many of them are listed */
	double *weights, *multipliers; /* the e_i and the f_i of all heads, one after another */
	const size_t *order; /* [n]: `size` neighbors make a group; size divides n */
	size_t size;
};

/* The means of the groups of the n heads that are listed; `gram` without data: not held. */
bool al_multiples_of_means(struct al_scratch *scratch, struct al_view heads, struct al_view gram,
	size_t width, const size_t *order, size_t n, size_t size, struct al_multiples *out,
	struct al_error *err) AL_MUST_CHECK;

/* Adds M of the group that starts at order[first] to `common`, [rows][width]. */
void al_multiples_add(const struct al_multiples *multiples, size_t first, struct al_matrix common);

/* A', as large as A; 0 where a head isn't listed. */
bool al_multiples_take(struct al_scratch *scratch, const struct al_multiples *multiples,
	struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* The relative error of a stack's forms if its own heads become these, and those of the other side
 * its `partners`; NULL: they stay. From Gram matrices, in a fraction of the time: `*is_shown` where
 * these show it, see AL_GRAM_SHOWS. All heads are listed. */
bool al_multiples_error(const struct al_multiples *multiples, const struct al_multiples *partners,
	const struct al_stack *stack, double *relative_error, bool *is_shown,
	struct al_error *err) AL_MUST_CHECK;
