/* The head tensor T[n_heads][d_query][d_key], known by its factors alone.
 *
 * T_i = Q_i K_g^T with g = floor(i*n_kv_heads/n_heads). No T_i, much less T, is ever formed: what
 * would take 58 GB for a layer of GPT-3 lies in two factors of 600 MB. */
#ifndef ATTNLEDGER_LINALG_HEADS_H
#define ATTNLEDGER_LINALG_HEADS_H

#include "linalg/linalg.h"

/* Two projections, in double or in single precision: `query` and `key`, or `query_f` and `key_f`,
 * and the others without data. The memory is the caller's.
 * query [d_query][n_heads*d_head]: head i is the columns i*d_head and on.
 * key [d_key][n_kv_heads*d_head]. The widths differ where attention crosses two models. */
struct al_heads {
	struct al_view query, key;
	struct al_view_f query_f, key_f;
	size_t n_heads, n_kv_heads; /* the second divides the first */
};

/* The sizes that follow from the views. */
struct al_heads_shape {
	size_t d_query, d_key, d_head, n_heads, n_kv_heads;
	bool is_single;
};

struct al_heads_shape al_heads_shape(const struct al_heads *heads);

/* AL_EINPUT where shapes contradict each other, a factor isn't finite or every head is zero. What
 * takes heads calls it first. */
bool al_heads_check(const struct al_heads *heads, struct al_error *err) AL_MUST_CHECK;

/* ||T||^2, the sum over heads of <Q_i^T Q_i, K_g^T K_g>. */
bool al_heads_norm(const struct al_heads *heads, double *norm_squared,
	struct al_error *err) AL_MUST_CHECK;

static inline size_t al_kv_head_of(const struct al_heads *heads, size_t head)
{
	return head * heads->n_kv_heads / heads->n_heads;
}

/* Copies in double precision: the d_head columns of one head, [d_query] or [d_key] tall. */
bool al_heads_copy_query(const struct al_heads *heads, size_t head, struct al_matrix out,
	struct al_error *err) AL_MUST_CHECK;
bool al_heads_copy_key(const struct al_heads *heads, size_t kv_head, struct al_matrix out,
	struct al_error *err) AL_MUST_CHECK;

/* Heads in double precision: the same views where they are, a copy where they aren't. Finish it in
 * either case, on failure too. */
struct al_wide_heads {
	struct al_heads heads;
	struct al_matrix query, key;
};

bool al_wide_heads_init(struct al_wide_heads *wide, const struct al_heads *heads,
	struct al_error *err) AL_MUST_CHECK;
void al_wide_heads_finish(struct al_wide_heads *wide);

/* The same for single precision. */
struct al_narrow_heads {
	struct al_heads heads;
	struct al_matrix_f query, key;
};

bool al_narrow_heads_init(struct al_narrow_heads *narrow, const struct al_heads *heads,
	struct al_error *err) AL_MUST_CHECK;
void al_narrow_heads_finish(struct al_narrow_heads *narrow);

/* ---- how far an approximation is off ---- */

/* An approximation T'_i = left middle_i right^T. */
struct al_approximation {
	struct al_view left; /* [d_query][p] */
	struct al_view right; /* [d_key][q] */
	/* out [p][n] = middle_head x, x [q][n]. Called from several threads. */
	bool (*middle)(const void *context, size_t head, struct al_view x, struct al_matrix out,
		struct al_error *err);
	const void *context;
};

/* Beyond this much work the residual is estimated. */
#define AL_RESIDUAL_FLOPS 1e12

/* How many Gaussian vectors estimate it. The estimate's relative standard error is at most
 * sqrt(1/(2*64)), 9 %, and that only where the residual is one single direction. */
enum { AL_RESIDUAL_PROBES = 64 };

/* ||T - T'|| / ||T||, from the residual itself in double precision: its blocks of columns one by
 * one, or, where that is less work, its parts inside and outside of the spaces that left and right
 * span. Nothing large cancels, so 1e-14 can be told from 1e-9. Where both would take more than
 * `most_flops`, Gaussian vectors x estimate it, by the mean of
 * ||(T_i - T'_i) x||^2. */
bool al_residual(const struct al_heads *heads, const struct al_approximation *approximation,
	double most_flops, double *relative_error, bool *is_estimate,
	struct al_error *err) AL_MUST_CHECK;

#endif
