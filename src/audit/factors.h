/* One attention module's weights, as the measurements take them: the factors of its heads, in
 * memory.
 *
 * Query head i is columns i*d_head.. of Q and works with key/value head
 * floor(i*n_kv_heads/n_heads); its score form is Q_i K_g^T, its value form V_g O_i^T. All matrices
 * are column-major. */
#ifndef ATTNLEDGER_AUDIT_FACTORS_H
#define ATTNLEDGER_AUDIT_FACTORS_H

#include "linalg/linalg.h"
#include "views/projection.h"

struct al_factors {
	struct al_view q; /* [d_in][n_heads*d_head] */
	struct al_view k; /* [d_in][n_kv_heads*d_head]; cross-attention may have another d_in */
	struct al_view v; /* [d_in][n_kv_heads*d_value]; data NULL: no value forms */
	struct al_view o; /* [d_out][n_heads*d_value]: W_O transposed; data NULL with v's */
	size_t n_heads, n_kv_heads, d_head, d_value;
	double unit; /* unit roundoff of the stored numbers: 2^-24 for F32, 2^-8 for BF16 */
};

/* Heads that divide, columns that fit: AL_EINPUT otherwise. */
bool al_factors_check(const struct al_factors *factors, struct al_error *err) AL_MUST_CHECK;

static inline bool al_has_values(const struct al_factors *factors)
{
	return factors->v.data != NULL;
}

/* The key/value head of a query head. */
static inline size_t al_kv_head(const struct al_factors *factors, size_t head)
{
	return head * factors->n_kv_heads / factors->n_heads;
}

/* A projection, the width of its heads and how many it has. */
struct al_run {
	struct al_view weights;
	size_t width, n_heads;
};

struct al_run al_factors_run(const struct al_factors *factors, enum al_projection projection);

/* Head `head` of a projection. */
struct al_view al_factors_head(const struct al_factors *factors, enum al_projection projection,
	size_t head);

/* Takes the mean over the columns off every row. */
void al_centre(struct al_matrix a);

/* ---- triangular factors ---- */

/* R_i of every head of every projection: A_i = U_i R_i with orthonormal U_i. What a head is in
 * itself (its spectrum, its norm, its product with its partner) is in these d x d matrices. */
struct al_triangles {
	struct al_factors shape; /* of the module: dimensions, no data */
	struct {
		struct al_matrix r; /* [height][n_heads*width], height = min(rows, width) */
		enum al_route *routes; /* [n_heads]: how each was found; NULL: no such projection */
	} of[AL_N_PROJECTIONS];
};

/* Room for a module of this shape (data isn't read), with those of W_V and W_O where `has_values`.
 * On failure nothing is left to finish. */
bool al_triangles_init(struct al_triangles *triangles, const struct al_factors *shape,
	bool has_values, struct al_error *err) AL_MUST_CHECK;
void al_triangles_finish(struct al_triangles *triangles);

/* Fills in the heads of a part of the module, whose first key/value head is `first_kv_head`: a
 * module that doesn't fit into memory is taken a few heads at a time. With `is_centred` the mean
 * over the head's dimensions is taken off every row first, like the PCA behind Figure 1 of
 * Cordonnier et al. 2020: at most d_head - 1 values are left. */
bool al_triangles_add(struct al_triangles *triangles, const struct al_factors *part,
	size_t first_kv_head, bool is_centred, struct al_error *err) AL_MUST_CHECK;

/* Both at once, for a module that is in memory. */
bool al_triangles_take(struct al_triangles *triangles, const struct al_factors *factors,
	bool is_centred, struct al_error *err) AL_MUST_CHECK;

/* R of one head, [height][width]. */
struct al_view al_triangle_of(const struct al_triangles *triangles, enum al_projection projection,
	size_t head);

#endif
