/* Rotary positions: the query/key form at an offset. */
#ifndef ATTNLEDGER_AUDIT_ROTARY_H
#define ATTNLEDGER_AUDIT_ROTARY_H

#include "linalg/linalg.h"
#include "views/views.h"

/* Has the module's query/key form an offset? (Of MLA the view leaves the rotated part out.) */
static inline bool al_has_offset(const struct al_attention *attention)
{
	return attention->is_rotary && !attention->is_latent && attention->rotary_width > 0;
}

/* W_Q of a query that is `offset` tokens after its key: each head's queries are rotated by
 * R(offset), so that their product with W_K is the form at that offset. Nothing happens where there
 * is none. */
void al_rotate_queries(const struct al_attention *attention, int64_t offset,
	struct al_matrix queries);

#endif
