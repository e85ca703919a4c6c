/* Rotary positions: the query/key form at an offset. */
#pragma once

#include "linalg/heads.h"
#include "model/heads/views.h"

/* Has the module's query/key form an offset? (Of MLA the view leaves the rotated part out.) */
bool al_has_offset(const struct al_attention *attention);

/* W_Q of a query that is `offset` tokens after its key, or such a query: each head's are rotated by
 * R(offset), so that their product with W_K is the form at that offset. Nothing happens where there
 * is none. */
void al_rotate_queries(const struct al_attention *attention, int64_t offset,
	struct al_matrix queries);

/* The two dimensions that pair i of a head's first `width` is. */
struct al_rotary_pair {
	size_t first, second;
};

struct al_rotary_pair al_rotary_pair(const struct al_attention *attention, size_t width, size_t i);

struct al_complex {
	double re, im;
};

/* a^H b of two pairs of dimensions as complex columns, of the heads that begin at columns a and b
 * of the projection whose A^T A this is. */
struct al_complex al_pair_product(struct al_view gram, size_t a, size_t b,
	struct al_rotary_pair pair);

/* The mean over all offsets of the inner products of the heads' score forms, [n_heads][n_heads]:
 * with a pair's columns as complex vectors that of Re(q k^H e^(i theta t)) and this of q', k' is
 * Re((q^H q')(k'^H k)) / 2; other dimensions are the same at all offsets. Of the projections'
 * A^T A, on [x, 1]. */
void al_rotary_inner(const struct al_heads *heads, const struct al_attention *attention,
	struct al_view queries, struct al_view keys, struct al_matrix out);
