/* Canonical polyadic decomposition of the head tensor: collaborative attention.
 *
 *     T[i] ~ query diag(mixing[i]) key^T        Cordonnier, Loukas & Jaggi 2020, arXiv:2006.16362
 *
 * Alternating least squares (Kolda & Bader 2009, section 3.4) with momentum, whose products go
 * through the factors of the heads: four products of 2 d_model n_heads d_head R operations a
 * sweep. */
#pragma once

#include "linalg/heads.h" /* the options are attnledger.h's */

/* Owns its matrices. Columns are balanced: those of `mixing` have norm 1, those of `query` and
 * `key` one norm; the largest component of a column of `mixing` and of `query` is positive. Ordered
 * by the norm of their term, largest first. */
struct al_cp {
	struct al_matrix query; /* [d_query][R] */
	struct al_matrix key; /* [d_key][R] */
	struct al_matrix mixing; /* [n_heads][R] */
	double relative_error; /* of the residual itself, in double precision: al_residual */
	bool is_estimate; /* of relative_error: by Gaussian vectors */
	double start_error; /* of the start that won; never below relative_error */
	enum al_cp_start start; /* which one won: never AL_CP_AUTO */
	size_t n_sweeps; /* that it took */
	bool is_converged; /* it stopped because sweeps changed little: options.stop */
};

/* Enough for most layers to converge: to where a sweep changes the error by less of itself. */
enum { AL_CP_SWEEPS = 200 };
#define AL_CP_STOP 1e-5

/* An error below this is rounding. */
#define AL_CP_SETTLED 1e-6

/* More sweeps would hardly change the error. */
static inline bool al_cp_has_settled(const struct al_cp *cp)
{
	return cp->is_converged || cp->relative_error < AL_CP_SETTLED;
}

/* n_heads*min(d_head, d_query, d_key): there the greedy start is exact. */
size_t al_cp_bound(const struct al_heads *heads);

/* Sweeps run in the precision of the heads: single is twice as fast and reaches about 1e-6, double
 * 1e-13. The answer is never worse than its start, so with the greedy start (and AL_CP_AUTO) never
 * worse than truncating the heads' own singular values.
 *
 * AL_EINPUT: factors or a rank that can't be, an algebraic start where none exists (the rank
 * exceeds the heads' multilinear rank); AL_ESYSTEM: no memory, or numbers that are not finite. On
 * failure `out` is zeroed. */
bool al_cp(const struct al_heads *heads, const struct al_cp_options *options, struct al_cp *out,
	struct al_error *err) AL_MUST_CHECK;
void al_cp_finish(struct al_cp *cp);

/* The error of truncating at `rank` singular triples over all heads, the control: relative_error of
 * the greedy start, from singular values alone. `errors` [al_cp_bound + 1], by rank from 0 on. */
bool al_cp_greedy_errors(const struct al_heads *heads, double *errors,
	struct al_error *err) AL_MUST_CHECK;

/* Floating-point operations of one sweep: products, Gram matrices, solves. */
double al_cp_sweep_flops(const struct al_heads *heads, size_t rank);
