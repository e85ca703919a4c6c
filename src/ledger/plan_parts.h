/* Inside a plan: what its parts share. A ledger that is swept is evaluated thousands of times; all
 * that can be found once (which symbol a formula mentions, which layers are equal) is found when
 * the plan is made, and an update computes only what mentions a symbol that has changed. */
#ifndef ATTNLEDGER_LEDGER_PLAN_PARTS_H
#define ATTNLEDGER_LEDGER_PLAN_PARTS_H

#include <stdint.h>

#include "formula/bound.h"
#include "ledger/plan.h"

enum { AL_PLAN_NO_MODULE = -1 };
#define AL_PLAN_NO_GROUP SIZE_MAX

/* Indices of the places that something mentions. */
struct al_plan_inputs {
	size_t *items;
	size_t n, room;
};

/* Who a place is of: a symbol, of the question or as a module has it. */
struct al_plan_owner {
	const char *symbol;
	int module; /* or AL_PLAN_NO_MODULE */
	bool is_asked;
	uint64_t changed; /* when */
	int64_t first; /* the first index in a list that changed; of a number, the smaller one */
};

/* A formula, and what it mentions. */
struct al_plan_formula {
	const struct al_bound *bound;
	struct al_plan_inputs inputs;
};

/* A place that follows others. */
struct al_plan_derived {
	size_t place;
	int module;
	struct al_plan_formula formula;
	struct al_plan_formula length; /* of a list: one value a layer */
	struct al_value *list;
	size_t room;
};

/* What must stay as it was. */
struct al_plan_condition {
	struct al_plan_formula formula;
	bool is_truth; /* only whether it holds */
	int64_t expected;
};

/* An iteration of an item's outermost loop: the group that it came to. */
struct al_plan_step {
	size_t group; /* or AL_PLAN_NO_GROUP */
	int64_t copies, active_copies;
	int64_t n_steps; /* of the item before it */
};

/* A tensor or a module of the family, and the groups that its loops make. */
struct al_plan_item {
	const struct al_loops *loops;
	const struct al_bound *counts[AL_FAMILY_LOOPS], *actives[AL_FAMILY_LOOPS];
	bool is_walked[AL_FAMILY_LOOPS];
	const struct al_bound *when, *count, *active, *uses; /* NULL: as the family leaves it out */
	const struct al_bound *values[AL_SHAPE_DIMS * 8]; /* dimensions, or what a module sets */
	size_t n_values;
	bool is_module, has_extras;
	struct al_plan_inputs grouping, all;
	struct al_plan_inputs along[AL_ALONG_ALL + 1]; /* of grouping, but the first loop's count */
	size_t first, n; /* in the tensor list */
	int64_t n_layers, n_steps; /* iterations that its loops take */
	struct al_plan_step *trail; /* where only the outermost loop is walked */
	size_t n_trail, trail_room;
	uint64_t changed;
};

/* Formulas of one entry of a module. */
struct al_plan_entry {
	const struct al_bound *dims[AL_MOST_DIMS], *count, *active, *inner;
	struct al_plan_inputs inputs;
};

/* Those of one list. */
struct al_plan_entries {
	struct al_plan_entry *items;
	size_t n;
	struct al_plan_condition *conditions; /* which lines are there */
	size_t n_conditions, room;
	uint64_t updated, n_fills; /* when, and how often it was filled anew */
	bool is_bound;
};

/* Where a setting's value stands. */
struct al_plan_link {
	size_t setting, place;
};

/* Those of the question, or of one module. */
struct al_plan_links {
	struct al_settings *settings;
	struct al_plan_link *items;
	size_t n;
};

struct al_plan {
	struct al_arena arena;
	struct al_ledger *ledger;
	struct al_place *places; /* the first AL_FAMILY_LOOPS: the iteration of the loops; then 1 */
	struct al_plan_owner *owners;
	size_t n_places, places_room, owners_room;
	struct al_plan_derived *derived;
	size_t n_derived, derived_room;
	struct al_plan_condition *conditions;
	size_t n_conditions, conditions_room;
	struct al_plan_item *items;
	size_t n_items;
	size_t *module_of; /* of the tensor list's modules: in the ledger's */
	size_t *of_module; /* places that change with a module's copies */
	size_t **with; /* of each module: the places of what is set in it; 0: of none */
	const struct al_bound *extras[AL_FAMILY_EXTRAS];
	struct al_plan_inputs extra_inputs;
	int64_t extra_from[AL_FAMILY_EXTRAS], extra_was[AL_FAMILY_EXTRAS];
	struct al_plan_entries lists[AL_N_LISTS];
	struct al_plan_links *links;
	size_t n_links;
	uint64_t clock;
	bool is_impossible;
};

/* How a formula is bound. */
struct al_plan_binder {
	struct al_plan *plan;
	int module; /* whose symbols come first; or AL_PLAN_NO_MODULE */
	const struct al_loops *loops; /* their variables come before; or NULL */
	bool is_absorbed;
	struct al_plan_inputs *inputs;
};

/* ---- places: plan_places.c ---- */

/* A new place; its number. */
size_t al_plan_add_place(struct al_plan *plan, const char *symbol, int module);

bool al_plan_find_place(const struct al_plan *plan, const char *symbol, int module, size_t *out);

void al_plan_add_input(struct al_plan *plan, struct al_plan_inputs *inputs, size_t place);

bool al_plan_changed_since(const struct al_plan *plan, const struct al_plan_inputs *inputs,
	uint64_t since);

/* Did one of them change in this update? */
bool al_plan_is_stale(const struct al_plan *plan, const struct al_plan_inputs *inputs);

/* A place changed from its list's index `first` on, or from this number to another. */
void al_plan_note_change(struct al_plan *plan, size_t place, int64_t first);

void al_plan_set_number(struct al_plan *plan, size_t place, int64_t value);

/* NULL for a formula that the family leaves out. */
const struct al_bound *al_plan_bind(struct al_plan_binder *b, const struct al_formula *formula);

/* The value as the module has it: fixed, an option, a default, or else the question's. */
size_t al_plan_place_of(struct al_plan *plan, int module, const char *symbol);

/* What a config derives follows what it is derived from, in the order of the derivation. */
void al_plan_settings(struct al_plan *plan);

/* A symbol that is derived may not be mentioned by what is derived before it. */
void al_plan_check_order(struct al_plan *plan);

/* A condition on numbers that are known. */
void al_plan_require(struct al_plan *plan, int module, const char *text);

/* The value at the places as they are. */
bool al_plan_whole(const struct al_plan *plan, const struct al_bound *bound, int64_t least,
	int64_t *out);

/* Of the question and of each module. */
void al_plan_link_settings(struct al_plan *plan);

/* As al_plan_whole; what the family leaves out is 1. */
bool al_plan_whole_or_one(const struct al_plan *plan, const struct al_bound *bound, int64_t *out);

bool al_plan_holds(const struct al_plan *plan, const struct al_plan_condition *c);

/* Of modules or of the question: what is derived, then, once all is, the conditions. */
bool al_plan_update_settings(struct al_plan *plan, bool of_modules);

/* Writes what changed back to where the settings stand. */
void al_plan_write_settings(struct al_plan *plan);

/* ---- the family's tensors and modules: plan_items.c ---- */

/* Where what is not part of the model begins. */
void al_plan_extras(struct al_plan *plan);

/* The tensors and modules of the family. */
void al_plan_items(struct al_plan *plan);

/* How many layers each of them is in. */
bool al_plan_find_layers(struct al_plan *plan);
bool al_plan_count_layers(const struct al_plan *plan, struct al_plan_item *item);

/* ---- groups: plan_groups.c ---- */

/* Walks the loops again, from an iteration of the outermost loop on: as many groups as before, or
 * it can't. */
bool al_plan_regroup(struct al_plan *plan, struct al_plan_item *item, int64_t from);

/* Do the loops together take no more iterations than the catalogue allows? */
bool al_plan_are_few_steps(const struct al_plan *plan);

/* Of modules, or of tensors: brings their groups up to date. */
bool al_plan_update_items(struct al_plan *plan, bool modules);

/* ---- modules: plan.c ---- */

/* Or does a variant stand in the place of every module? */
bool al_plan_has_own_attention(const struct al_ledger *ledger);

#endif
