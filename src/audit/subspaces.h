/* The subspaces that heads' queries, keys, values and outputs live in, and the principal angles
 * between them. */
#pragma once

#include "audit/triangles.h"

/* Orthonormal bases of the heads of one projection, side by side, and how many columns each
 * fills. */
struct al_bases {
	struct al_matrix u; /* [rows][n_heads*width] */
	size_t *ranks; /* [n_heads] */
	size_t width;
};

/* Directions of the heads below rounding (as for the numerical rank) don't count. */
bool al_bases_find(struct al_scratch *scratch, struct al_bases *bases, const struct al_heads *heads,
	enum al_projection projection, struct al_error *err) AL_MUST_CHECK;

/* The basis of one head, [rows][rank]. */
static inline struct al_view al_bases_head(const struct al_bases *bases, size_t head)
{
	return al_columns(al_view(bases->u), head * bases->width, bases->ranks[head]);
}

/* Heads whose directions all count and are of like size, [n_heads]: their triangular factors give
 * their bases' cosines. NULL, and *err, on failure. */
const bool *al_even_heads_find(struct al_scratch *scratch, const struct al_triangles *triangles,
	const struct al_heads *heads, enum al_projection projection,
	struct al_error *err) AL_MUST_CHECK;

/* out = U_a^T U_b = R_a^-T (A^T B) R_b^-1 of two such heads, good to 1e-9. */
bool al_even_cosines(struct al_view a, struct al_view a_triangle, struct al_view b,
	struct al_view b_triangle, struct al_matrix out, struct al_error *err) AL_MUST_CHECK;

/* Between two subspaces: the mean squared cosine, and the extreme angles in degrees. */
struct al_angles {
	double kernel, smallest, largest;
};

/* From the cosines U_a^T U_b of two bases. */
bool al_angles_find(struct al_view cosines, struct al_angles *out,
	struct al_error *err) AL_MUST_CHECK;
