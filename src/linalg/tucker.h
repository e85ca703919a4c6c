/* Tucker decomposition of the head tensor from its factors.
 *
 *     T[i] ~ sum_h head[i][h] query core[h] key^T
 *
 * The core stays factored: core_i = (query^T Q_i)(key^T K_g)^T, which is the layer itself at a
 * smaller d_model. Kolda & Bader 2009, "Tensor decompositions and applications", sections 4.1
 * and 4.2, for HOSVD and HOOI; the Gram matrices of the unfoldings come from smaller ones. */
#pragma once

#include "linalg/heads.h" /* the options are attnledger.h's */

/* Owns its matrices. */
struct al_tucker {
	struct al_matrix query; /* [d_query][query_rank], orthonormal columns */
	struct al_matrix key; /* [d_key][key_rank], orthonormal columns */
	struct al_matrix head; /* [n_heads][head_rank], likewise; empty where partial */
	struct al_matrix core_query; /* [query_rank][n_heads*d_head] = query^T Q */
	struct al_matrix core_key; /* [key_rank][n_kv_heads*d_head] = key^T K */
	size_t n_heads, n_kv_heads;
	double relative_error; /* of the residual itself, al_residual */
	bool is_estimate; /* of relative_error: by Gaussian vectors */
	double core_error; /* sqrt(1 - ||core||^2/||T||^2): cancels below 1e-8 */
	size_t n_sweeps; /* HOOI sweeps that were done */
	/* Random finder: the last change of the error that another power iteration made, relative
	 * to the error, the larger of both modes; 0 for the exact finder. The finder goes on, at
	 * most AL_TUCKER_POWER_MOST times, until it is below AL_TUCKER_SETTLED. */
	double finder_change;
};

#define AL_TUCKER_SETTLED 1e-3
enum { AL_TUCKER_POWER_MOST = 8 };

/* The largest ranks that mean anything: d_query or n_heads*d_head, whichever is less, and so on. */
struct al_tucker_bounds {
	size_t head, query, key;
};

struct al_tucker_bounds al_tucker_bounds(const struct al_heads *heads);

/* Of partial decompositions by ranks: sets `n_sweeps` and `stop` so that further sweeps lessen the
 * error by less than 1 %. There are none where a rank exceeds the product of the others. */
void al_tucker_refine(const struct al_heads *heads, struct al_tucker_options *options);

/* AL_EINPUT: factors or ranks that can't be; AL_ESYSTEM: no memory, or numbers that are not finite.
 * On failure `out` is zeroed. */
bool al_tucker(const struct al_heads *heads, const struct al_tucker_options *options,
	struct al_tucker *out, struct al_error *err) AL_MUST_CHECK;
void al_tucker_finish(struct al_tucker *tucker);

/* Query and key parameters with the core kept in factors, 2p(D + D_k) at width p (partial: full
 * cores are mixtures, and then it counts the mixing as well), and with the core written out. */
size_t al_tucker_parameters_factored(const struct al_tucker *tucker);
size_t al_tucker_parameters_dense(const struct al_tucker *tucker);
