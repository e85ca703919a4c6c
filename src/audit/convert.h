/* What conversions cost in weight space, each from the factors of the heads: relative Frobenius
 * errors over a module's stacked forms. */
#pragma once

#include "audit/stacks.h"
#include "model/heads/views.h"

/* ---- groups of heads with one key (or value): order[n], `size` neighbors a group ---- */

/* out: in the place of each of those `size` heads their mean, width columns a head; out is zero
 * there. */
void al_mean_heads(struct al_view heads, size_t width, const size_t *order, size_t size,
	struct al_matrix out);

/* As stored: the mean of the group's heads (Ainslie et al. 2023, section 2.1); under rotary
 * positions (NULL: none) also the error over all offsets, else NAN. */
bool al_convert_mean(const struct al_stack *stack, const struct al_attention *rotary,
	const size_t *order, size_t size, double *error, double *mean_error,
	struct al_error *err) AL_MUST_CHECK;

/* Of one group, squared and not relative. */
bool al_convert_mean_group(const struct al_stack *stack, const size_t *heads, size_t size,
	double *squared, struct al_error *err) AL_MUST_CHECK;

/* Keys under rotary positions: of every pair of dimensions the one complex column that the heads'
 * are multiples of, at the least mean error over all offsets; what isn't rotated is shared as
 * al_stack_share does. `error` is at the queries' offset, `mean_error` over all. */
bool al_convert_rotary(const struct al_stack *stack, const struct al_attention *attention,
	const size_t *order, size_t size, double *error, double *mean_error,
	struct al_error *err) AL_MUST_CHECK;

/* The mean error of one group, squared and not relative. */
bool al_rotary_share_group(const struct al_stack *stack, const struct al_attention *attention,
	const size_t *heads, size_t size, double *squared, struct al_error *err) AL_MUST_CHECK;

/* The root of the mean over all offsets of ||the forms||^2. */
bool al_rotary_norm(const struct al_stack *stack, const struct al_attention *attention,
	double *norm, struct al_error *err) AL_MUST_CHECK;

/* Over all offsets: ||the forms with `other`'s heads in the place of own's - the forms|| / ||the
 * forms||, in the mean of the squares. */
bool al_rotary_error(const struct al_stack *stack, const struct al_attention *attention,
	struct al_view other, double *relative_error, struct al_error *err) AL_MUST_CHECK;

/* ---- keys and values together ---- */

/* One projection for a head's key and its value: of K_g R_g^T/||QK|| next to V_g S_g^T/||OV|| the
 * first singular vectors. Both have one width. */
bool al_convert_shared_kv(const struct al_stack *keys, const struct al_stack *values,
	double errors[2], struct al_error *err) AL_MUST_CHECK;

/* The keys and values of all heads from `rank` numbers a token: the same over all heads. Of
 * ranks[i] errors[0][i] is that of the keys, errors[1][i] that of the values; ranks fall. */
bool al_convert_latent(const struct al_stack *keys, const struct al_stack *values,
	const size_t *ranks, size_t n_ranks, double *errors[2], struct al_error *err) AL_MUST_CHECK;

/* ---- multiple-head embeddings (Xue & Aletras 2023); as many key/value heads as heads ---- */

enum al_embedding { AL_EMBEDDING_ADD, AL_EMBEDDING_MUL, AL_N_EMBEDDINGS };

/* As stored: the mean of the heads; or of every column the best multiples of one across the
 * heads. */
bool al_convert_embedding(const struct al_heads *heads, const struct al_stack *keys,
	const struct al_stack *values, enum al_embedding kind, double errors[2],
	struct al_error *err) AL_MUST_CHECK;

/* Of the score forms as A diag(m_i) C^T, multiplied embeddings in whatever basis suits them:
 * with d_head columns, as alternating least squares find it: the relative error over all heads.
 * There are as many keys as queries. `least_error` is what no such form can be below (one key
 * projection for all heads): far from 0 the layer isn't collaborative, its algebraic start is left
 * out, and sweeps are in single precision. */
bool al_convert_collaborative(const struct al_heads *heads, double least_error, uint64_t seed,
	double *error, struct al_error *err) AL_MUST_CHECK;
