/* Measures of heads by their outputs: o is all heads' outputs of a token side by side, M = E[o^T o]
 * up to a factor, and the module's output is o W_O. Errors are relative errors of norms, the root
 * of E|change|^2 / E|o W_O|^2 over the tokens of M, in whose sample they are exact.
 *
 * W_O is taken as views give it, transposed: [d_model][n_heads*d_value]. */
#pragma once

#include "base/estimate.h"
#include "model/calibration/folds.h"

/* The importance of one head's output. Errors of fits are cross-fitted: fitted on all folds but
 * one and measured on that, for each; squares are added up, and those of W_O corrected for the fold
 * that its fits lack. Of one fold alone, and of moments that weights give, they are in sample. */
struct al_head_worth {
	double share; /* E|o_i W_O^(i)|^2, of the sum over all heads: of squares */
	double dropped; /* the error without the head */
	struct al_estimate compensated; /* ... with W_O of all others fitted anew */
	size_t twin; /* the head that alone replaces it best; itself where there is no other */
	double by_twin; /* the error then */
	double turn; /* of the stream behind attention without the head: degrees; NAN: unknown */
	/* By what heads are put in order: the turn times the share of the error without the head
	 * that W_O fitted anew leaves (compensated / dropped); the turn alone where no other tokens
	 * judge a fit. Where turns are unknown `compensated`, or `dropped`. 0: silent. */
	struct al_estimate cost;
	bool is_least; /* the one that costs least */
	bool is_tied; /* ... or one that can't be told from it, it included */
};

/* Squares by which heads are put in order (order.c), [n_heads][folds]: sums over a fold's tokens, n
 * that of the module's output. */
struct al_head_squares {
	size_t n_heads, n_folds;
	const struct al_unit *dropped, *refitted;
	struct al_turns turns;
};

/* Fills `turn`, `cost` and whether it is the least. */
bool al_heads_order(const struct al_head_squares *squares, struct al_head_worth *worth,
	struct al_error *err) AL_MUST_CHECK;

/* `moments`: M by fold, triangles; `worth` [n_heads]. A module that puts out nothing is worth 0. */
bool al_heads_judge(struct al_matrix moments, struct al_view output, struct al_turns turns,
	size_t n_heads, struct al_head_worth *worth, struct al_error *err) AL_MUST_CHECK;

/* Share and `dropped` where of M the diagonal alone is known, `squares` [n_heads*d_value], and
 * perhaps E[o], `means` (else NULL): different numbers count as uncorrelated. There are no fits. */
void al_heads_judge_diagonal(const double *squares, const double *means, struct al_view output,
	size_t n_heads, struct al_head_worth *worth);

/* The square of the cross-fitted error where another head's output alone, mapped as well as can
 * be, replaces a head's: left [n_heads][n_heads], a row for each head, with that without any in its
 * own column. */
bool al_heads_replace(struct al_matrix moments, struct al_view output, size_t n_heads, double *left,
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

/* L with G^+ = L L^T, likewise: eigenvectors over the roots of their values. */
bool al_inverse_root(struct al_scratch *scratch, struct al_view g, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;
