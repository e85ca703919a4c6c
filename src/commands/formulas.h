/* Cells of formulas: what a variant's tensors add up to, and what it caches, as polynomials. */
#ifndef ATTNLEDGER_COMMANDS_FORMULAS_H
#define ATTNLEDGER_COMMANDS_FORMULAS_H

#include "ledger/ledger.h"

/* Symbols that formulas take the place of. */
struct al_substitutions {
	const struct al_substitution *items;
	size_t n;
};

/* What a token adds to a module's cache, and what a sequence has once: "2*d_head*n_heads",
 * "once: d_head*d_value*n_heads", "none". Where the variant doesn't declare it, the cell stays
 * missing, and a note says so. */
bool al_cell_set_cached(struct al_table *table, struct al_cell *cell, struct al_ledger *ledger,
	const struct al_substitutions *substitutions, struct al_catalog *catalog,
	struct al_error *err) AL_MUST_CHECK;

#endif
