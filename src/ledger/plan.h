/* Inside the ledger: how it is evaluated again after a symbol was set, without parsing or memory.
 * Every formula is bound to places, one a symbol of the question or of a module; a place knows when
 * it changed, and what mentions it is evaluated again.
 *
 * Layers are in groups of equal ones: a group is evaluated once, in its first layer. Groups hang on
 * the symbols that stand beside a loop's variable; where one of these changed the loops are walked
 * again. What the plan can't (a quotient that isn't whole, other groups, a tensor that appears or
 * goes) is left to who opens the ledger anew, which is exact and says what is wrong. */
#ifndef ATTNLEDGER_LEDGER_PLAN_H
#define ATTNLEDGER_LEDGER_PLAN_H

#include "ledger/ledger.h"

struct al_plan;

/* The plan of a whole model that is open, or of a module alone; NULL: it can't be planned (more
 * than one device, names). */
struct al_plan *al_plan_create(struct al_ledger *ledger);
void al_plan_destroy(struct al_plan *plan);

/* Sets a symbol that was asked, of a module alone given, when the plan was made; false: it was
 * not. */
bool al_plan_set(struct al_plan *plan, const char *symbol, int64_t value);

/* Brings settings, modules and the family's tensors up to date; false: open the ledger anew, or
 * make a new plan of a module alone. */
bool al_plan_update(struct al_plan *plan);

/* Binds the entries of a list that was filled. */
void al_plan_bind_list(struct al_plan *plan, enum al_list list);

/* Brings the entries of a list up to date; false: fill it anew. */
bool al_plan_update_list(struct al_plan *plan, enum al_list list);

#endif
