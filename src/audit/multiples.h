/* Heads that become multiples of one projection for each group of them: A'_i = M diag(f_i), M the
 * sum of A_b diag(e_b) over the group. The mean of n heads is that with all e = 1 and f = 1/n. */
#pragma once

#include "audit/stacks.h"

struct al_multiples {
	struct al_view heads, gram; /* A [rows][n*width]; A^T A */
	size_t n, width;
	double *taken, *multipliers; /* the e_i, the f_i, one after another: [n*width] */
	const size_t *order; /* [n]: `size` neighbors make a group; size divides n */
	size_t size;
};

/* The means of the groups of the n heads that are listed; `gram` without data: not held. */
bool al_multiples_of_means(struct al_scratch *scratch, struct al_view heads, struct al_view gram,
	size_t width, const size_t *order, size_t n, size_t size, struct al_multiples *out,
	struct al_error *err) AL_MUST_CHECK;

/* Adds M of the group that starts at order[first] to `common`, [rows][width]. */
void al_multiples_add(const struct al_multiples *multiples, size_t first, struct al_matrix common);

/* A', [rows][n*width] */
bool al_multiples_take(struct al_scratch *scratch, const struct al_multiples *multiples,
	struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* The relative error of a stack's forms if its own heads become these, and those of the other side
 * its `partners`; NULL: they stay. From Gram matrices, in a fraction of the time: `*is_shown` where
 * these show it, see AL_GRAM_SHOWS. */
bool al_multiples_error(const struct al_multiples *multiples, const struct al_multiples *partners,
	const struct al_stack *stack, double *relative_error, bool *is_shown,
	struct al_error *err) AL_MUST_CHECK;
