/* Which heads share a key and a value: groups of one size. */
#ifndef ATTNLEDGER_AUDIT_GROUPING_H
#define ATTNLEDGER_AUDIT_GROUPING_H

#include "audit/stacks.h"
#include "base/text.h"

/* order[n]: heads, `size` neighbours a group, so that what heads of a group have in common is
 * large: from neighbours as they are stored, pairs of heads change places as long as the sum of
 * squared overlaps ||L_i^T L_j||^2 within groups grows. `values` may be NULL. */
bool al_group_heads(const struct al_stack *keys, const struct al_stack *values, size_t size,
	size_t *order, struct al_error *err) AL_MUST_CHECK;

/* "0 3, 1 2": groups and their heads in rising order. */
void al_group_print(const size_t *order, size_t n, size_t size, struct al_text *out);

#endif
