/* The heads of one attention module: its projections, heads side by side.
 *
 * Query head i is columns i*d_head and on of the query projection and works with key/value head
 * floor(i*n_kv_heads/n_heads); its score form is T_i = Q_i K_g^T, its value form V_g O_i^T. The
 * T_i are the head tensor T[n_heads][d_query][d_key] that Tucker and CP decompose. No T_i, much
 * less T, is ever formed: what would take 58 GB for a layer of GPT-3 lies in two factors of 600
 * MB. */
#pragma once

#include "linalg/linalg.h"
#include "linalg/projection.h"

/* In double or in single precision; the others, and projections that there aren't, are without
 * data: what only asks for scores has neither values nor outputs. The memory is the caller's. */
struct al_heads {
	struct al_view query; /* [d_query][n_heads*d_head] */
	struct al_view
		key; /* [d_key][n_kv_heads*d_head]; attention across two models has two widths */
	struct al_view value; /* [d_in][n_kv_heads*d_value] */
	struct al_view output; /* [d_out][n_heads*d_value]: W_O transposed */
	struct al_view_f query_f, key_f, value_f, output_f;
	/* What is added to each column of a projection, [1][columns]: biases that scores or outputs
	 * depend on. Projection and bias together are what is multiplied by [x, 1]. */
	struct al_view bias[AL_N_PROJECTIONS];
	/* A^T A of projections in double precision, where the caller holds it. */
	struct al_view gram[AL_N_PROJECTIONS];
	size_t n_heads, n_kv_heads; /* the second divides the first */
	size_t d_head, d_value;
	double unit; /* unit roundoff of the stored numbers: 2^-24 for F32, 2^-8 for BF16 */
};

/* A number of heads that the number of key/value heads divides, columns that fit, rows; where
 * `has_values` of values and outputs too. AL_EINPUT otherwise. Data isn't looked at. */
bool al_heads_check_shape(const struct al_heads *heads, bool has_values,
	struct al_error *err) AL_MUST_CHECK;

/* The same of the projections that are there: values and outputs, or neither. */
bool al_heads_check_projections(const struct al_heads *heads, struct al_error *err) AL_MUST_CHECK;

bool al_has_values(const struct al_heads *heads);

/* The key/value head of a query head. */
size_t al_kv_head(const struct al_heads *heads, size_t head);

/* The head of a projection that a query head works with. */
size_t al_own_head(const struct al_heads *heads, enum al_projection projection, size_t head);

/* A projection in double precision, the width of its heads and how many it has. */
struct al_run {
	struct al_view weights;
	size_t width, n_heads;
};

struct al_run al_heads_run(const struct al_heads *heads, enum al_projection projection);

/* Head `head` of a projection. */
struct al_view al_head_of(const struct al_heads *heads, enum al_projection projection, size_t head);

/* A projection, and one head of it in single precision. */
struct al_view al_projection_of(const struct al_heads *heads, enum al_projection projection);
struct al_view_f al_projection_of_f(const struct al_heads *heads, enum al_projection projection);
struct al_view_f al_head_of_f(const struct al_heads *heads, enum al_projection projection,
	size_t head);

/* ---- scores alone: what decompositions take ---- */

/* The sizes that follow from the views. */
struct al_heads_shape {
	size_t d_query, d_key, d_head, n_heads, n_kv_heads;
	bool is_single;
};

struct al_heads_shape al_heads_shape(const struct al_heads *heads);

/* AL_EINPUT where shapes contradict each other, a factor isn't finite or every head is zero. What
 * takes heads calls it first. `*norm_squared` is al_heads_norm's, which costs a product of the
 * heads: who goes on with the heads hands it on. */
bool al_heads_check(const struct al_heads *heads, double *norm_squared,
	struct al_error *err) AL_MUST_CHECK;

/* ||T||^2, the sum over heads of <Q_i^T Q_i, K_g^T K_g>. */
bool al_heads_norm(const struct al_heads *heads, double *norm_squared,
	struct al_error *err) AL_MUST_CHECK;

/* A copy in double precision: the columns of one head of the queries or of the keys. */
bool al_head_copy(const struct al_heads *heads, enum al_projection projection, size_t head,
	struct al_matrix out, struct al_error *err) AL_MUST_CHECK;

/* Heads in double precision: the same views where they are, copies in the scratch where they
 * aren't. */
bool al_heads_widen(struct al_scratch *scratch, const struct al_heads *heads, struct al_heads *out,
	struct al_error *err) AL_MUST_CHECK;

/* The same for single precision, of all projections that there are. */
bool al_heads_narrow(struct al_scratch *scratch, const struct al_heads *heads, struct al_heads *out,
	struct al_error *err) AL_MUST_CHECK;

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

/* ||T - T'|| / ||T||, from the residual itself in double precision: its parts inside and outside of
 * the spaces that left and right span. Nothing large cancels, so 1e-14 differs from 1e-9. Where
 * that would take more than `most_flops`, Gaussian vectors x estimate it, by the mean of
 * ||(T_i - T'_i) x||^2. `norm_squared` is al_heads_norm's. */
bool al_residual(const struct al_heads *heads, double norm_squared,
	const struct al_approximation *approximation, double most_flops, double *relative_error,
	bool *is_estimate, struct al_error *err) AL_MUST_CHECK;
