/* The lines of an attention module as formulas, for who evaluates them elsewhere: what the ledger
 * counts is each line's product of dimensions and count, times what the basis covers, where the
 * line's `when` holds. */
#pragma once

#include "ledger/ledger.h"

struct al_line {
	const struct al_entry *entry; /* its `when`, `tokens`, `dtype`, `per` and `shared` */
	const struct al_formula *dims[AL_MOST_DIMS]; /* whole, 1 or more; of a product m, k, n */
	size_t n_dims;
	const struct al_formula *inner; /* of a product: what must equal k; NULL: it reads the same
					   */
	const struct al_formula *count; /* whole, 0 or more; NULL: 1 */
};

struct al_lines {
	struct al_line *items;
	size_t n;
	bool is_declared; /* false: the variant's file has no such list */
};

/* Of a module alone; the lines that the basis leaves in. The array is the arena's, the formulas are
 * the ledger's. */
struct al_lines al_ledger_lines(const struct al_ledger *ledger, enum al_list list,
	struct al_arena *arena);

/* How many of what is shared over `shared` the basis covers; NULL: one. */
const struct al_formula *al_ledger_times(const struct al_ledger *ledger, enum al_per shared);
