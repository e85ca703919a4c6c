/* Measures of heads by their outputs: o is all heads' outputs of a token side by side, M = E[o^T o]
 * up to a factor, and the module's output is o W_O. Errors are relative errors of norms, the root
 * of E|change|^2 / E|o W_O|^2 over the tokens of M, in whose sample they are exact.
 *
 * W_O is taken as views give it, transposed: [d_model][n_heads*d_value]. */
#pragma once

#include "linalg/linalg.h"

/* The importance of one head's output. */
struct al_head_worth {
	double share; /* E|o_i W_O^(i)|^2, of the sum over all heads: of squares */
	double dropped; /* the error without the head */
	double compensated; /* ... with W_O of all others fitted anew: the Schur complement of M */
	size_t twin; /* the head that alone replaces it best; itself where there is no other */
	double by_twin; /* the error then */
};

/* `worth` [n_heads]. A module that puts out nothing is worth 0. */
bool al_heads_judge(struct al_view moment, struct al_view output, size_t n_heads,
	struct al_head_worth *worth, struct al_error *err) AL_MUST_CHECK;

/* Share and `dropped` where of M the diagonal alone is known, `squares` [n_heads*d_value], and
 * perhaps E[o], `means` (else NULL): different numbers count as uncorrelated. The rest stays 0. */
void al_heads_judge_diagonal(const double *squares, const double *means, struct al_view output,
	size_t n_heads, struct al_head_worth *worth);

/* The square of the error where another head's output alone, mapped as well as can be, replaces a
 * head's: left [n_heads][n_heads], a row for each head, with that without any in its own column. */
bool al_heads_replace(struct al_view moment, struct al_view output, size_t n_heads, double *left,
	struct al_error *err) AL_MUST_CHECK;

/* The output projection of other outputs p, as many numbers as they have, that comes nearest to o
 * W_O: W = E[p^T p]^+ E[p^T o] W_O. `gram` is E[p^T p], `cross` E[p^T o], up to one factor; out is
 * [d_model][numbers of p]. Directions in which p has no variance beyond rounding get nothing. */
bool al_output_refit(struct al_view gram, struct al_view cross, struct al_view output,
	struct al_matrix out, struct al_error *err) AL_MUST_CHECK;

/* E|o W_O|^2, up to the moment's factor. */
bool al_output_power(struct al_view moment, struct al_view output, double *out,
	struct al_error *err) AL_MUST_CHECK;

/* b = G^+ b for a symmetric G that isn't negative; what eigenvalues below 2^-22 of the largest
 * belong to is dropped: moments are sums of float32 products. */
bool al_solve_moment(struct al_view g, struct al_matrix b, struct al_error *err) AL_MUST_CHECK;
