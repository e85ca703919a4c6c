/* Errors of conversions in weight space, from the heads' factors: relative Frobenius errors over
 * all forms of a module, stacked. */
#pragma once

#include "audit/stacks.h"
#include "model/heads/views.h"

/* ---- groups of heads with one key (or value): order[n], `size` neighbors per group ---- */

/* In the stored basis: the mean of each group's heads (Ainslie et al. 2023, section 2.1). With
 * rotary positions (NULL: none) mean_error is the error over all offsets, otherwise NAN. */
bool al_convert_mean(const struct al_stack *stack, const struct al_attention *rotary,
	const size_t *order, size_t size, double *error, double *mean_error,
	struct al_error *err) AL_MUST_CHECK;

/* The same error for one group, squared and absolute. */
bool al_convert_mean_group(const struct al_stack *stack, const size_t *heads, size_t size,
	double *squared, struct al_error *err) AL_MUST_CHECK;

/* Keys with rotary positions: for each rotated pair of dimensions, one complex column of which all
 * heads' columns are multiples, with the least mean error over all offsets; other dimensions are
 * shared as in al_stack_share. `error` is at the queries' offset, `mean_error` over all offsets. */
bool al_convert_rotary(const struct al_stack *stack, const struct al_attention *attention,
	const size_t *order, size_t size, double *error, double *mean_error,
	struct al_error *err) AL_MUST_CHECK;

/* The mean error of one group, squared and absolute. */
bool al_rotary_share_group(const struct al_stack *stack, const struct al_attention *attention,
	const size_t *heads, size_t size, double *squared, struct al_error *err) AL_MUST_CHECK;

/* Root mean square of ||forms|| over all offsets. */
bool al_rotary_norm(const struct al_stack *stack, const struct al_attention *attention,
	double *norm, struct al_error *err) AL_MUST_CHECK;

/* ||forms with the heads of `other` - forms|| / ||forms||, root mean square over all offsets. */
bool al_rotary_error(const struct al_stack *stack, const struct al_attention *attention,
	struct al_view other, double *relative_error, struct al_error *err) AL_MUST_CHECK;

/* ---- keys and values together ---- */

/* One projection for the key and the value of a head: the first singular vectors of
 * [K_g R_g^T/||QK||, V_g S_g^T/||OV||]. Keys and values have the same width. */
bool al_convert_shared_kv(const struct al_stack *keys, const struct al_stack *values,
	double errors[2], struct al_error *err) AL_MUST_CHECK;

/* The keys and values of all heads from one latent of `rank` numbers per token. For ranks[i]
 * (decreasing), errors[i][0] is the error of the keys, errors[i][1] that of the values. */
bool al_convert_latent(const struct al_stack *keys, const struct al_stack *values,
	const size_t *ranks, size_t n_ranks, double (*errors)[2],
	struct al_error *err) AL_MUST_CHECK;

/* ---- multiple-head embeddings (Xue & Aletras 2023); as many key/value heads as heads ---- */

enum al_embedding { AL_EMBEDDING_ADD, AL_EMBEDDING_MUL, AL_N_EMBEDDINGS };

/* In the stored basis: the mean of the heads (ADD), or for each column the best multiples of one
 * column across the heads (MUL). The Gram matrices of queries, keys and values are held. */
bool al_convert_embedding(const struct al_heads *heads, const struct al_stack *keys,
	const struct al_stack *values, enum al_embedding kind, double errors[2],
	struct al_error *err) AL_MUST_CHECK;

/* The relative error over all heads of writing the score forms as A diag(m_i) C^T (multiplied
 * embeddings in the best basis), with d_head columns found by alternating least squares. There
 * must be as many key heads as query heads. `least_error` is a lower bound of the error (one key
 * projection for all heads): if it is far from 0, the layer isn't collaborative; then the algebraic
 * start is skipped and sweeps use single precision. */
bool al_convert_collaborative(const struct al_heads *heads, double least_error, uint64_t seed,
	double *error, struct al_error *err) AL_MUST_CHECK;
