/* A formula bound to places: each symbol is known by where its value stands, so that it is
 * evaluated again and again without names, parsing or memory. For sweeps: it knows 64-bit whole
 * numbers and words only, and says so where they don't suffice; al_formula_eval is exact and says
 * what is wrong. */
#ifndef ATTNLEDGER_FORMULA_BOUND_H
#define ATTNLEDGER_FORMULA_BOUND_H

#include "formula/formula.h"

/* What a symbol is worth: a number, a word or a list of them. */
struct al_place {
	int64_t number;
	const char *word; /* NULL: a number */
	const struct al_value *list; /* NULL: no list */
	size_t n_list;
	bool is_known; /* false: nobody gives it a value */
};

struct al_bound;

/* Binds a formula: `find` gives the index of a symbol's place. What is bound lives in the arena;
 * the formula must outlive it. */
const struct al_bound *al_formula_bind(struct al_arena *arena, const struct al_formula *formula,
	size_t (*find)(void *context, const char *symbol), void *context);

/* A whole number of at least `least` and below 2^53, as al_formula_whole finds it; false: ask
 * there. */
bool al_bound_whole(const struct al_bound *bound, const struct al_place *places, int64_t least,
	int64_t *out);

#endif
