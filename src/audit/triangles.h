/* The triangular factor of each head of a module: what the head is in itself. */
#pragma once

#include "linalg/heads.h"

/* Takes the mean over the columns off every row: of a head the mean over its dimensions, like the
 * PCA behind Figure 1 of Cordonnier et al. 2020; at most d_head - 1 values are left. */
void al_center(struct al_matrix a);

/* R_i of every head of every projection: A_i = U_i R_i with orthonormal U_i. What a head is in
 * itself (its spectrum, its norm, its product with its partner) is in these d x d matrices. */
struct al_triangles {
	struct al_heads shape; /* of the module: dimensions, no data */
	struct {
		struct al_matrix r; /* [height][n_heads*width], height = min(rows, width) */
		enum al_route *routes; /* [n_heads]: how each was found; NULL: no such projection */
	} of[AL_N_PROJECTIONS];
	struct al_scratch scratch; /* theirs */
};

/* Room for a module of this shape (data isn't read), with those of W_V and W_O where `has_values`.
 * On failure, too, it is to be finished. */
bool al_triangles_init(struct al_triangles *triangles, const struct al_heads *shape,
	bool has_values, struct al_error *err) AL_MUST_CHECK;

/* Safe on a zeroed struct and twice. */
void al_triangles_finish(struct al_triangles *triangles);

bool al_triangles_has_values(const struct al_triangles *triangles);

/* Fills in the heads of a part of the module, whose first key/value head is `first_kv_head`: a
 * module that doesn't fit into memory is taken a few heads at a time. */
bool al_triangles_add(struct al_triangles *triangles, const struct al_heads *part,
	size_t first_kv_head, struct al_error *err) AL_MUST_CHECK;

/* Both at once, for a module that is in memory. */
bool al_triangles_take(struct al_triangles *triangles, const struct al_heads *heads,
	struct al_error *err) AL_MUST_CHECK;

/* R of one head, [height][width]. */
struct al_view al_triangle_of(const struct al_triangles *triangles, enum al_projection projection,
	size_t head);

/* R with R^T R = sum R_i^T R_i over `n` heads from `first` on: the first min(n*height, width) rows
 * of `out`, which has `width` columns. */
bool al_triangles_join(const struct al_triangles *triangles, enum al_projection projection,
	size_t first, size_t n, struct al_matrix out, struct al_error *err) AL_MUST_CHECK;
