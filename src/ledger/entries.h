/* The lines of a module - tensors, what it caches, saves, computes - as entries: for the ledger,
 * and for who evaluates their formulas elsewhere. */
#pragma once

#include "ledger/ledger.h"

/* A line as formulas, for who evaluates them elsewhere, too: what the ledger counts is the product
 * of dimensions and count, times what the basis covers, where the entry's `when` holds. */
struct al_line {
	const struct al_entry *entry; /* its `when`, `tokens`, `dtype`, `per` and `shared` */
	/* The tensor's own, or d_model x d_model under the basis `full`; a product's m, k, n. */
	const struct al_formula *dims[AL_MOST_DIMS];
	size_t n_dims;
	const struct al_formula *count, *active; /* NULL: 1, and as many as count */
};

const struct al_entries *al_lines_of(const struct al_variant *variant, enum al_list list);

struct al_line al_line_of(const struct al_block *block, enum al_list list,
	const struct al_entry *entry);

/* "tensor W_Q: " before an error; returns false. */
bool al_line_in(enum al_list list, const struct al_entry *entry, struct al_error *err);

/* Do the basis, the kernel and the kind leave the line in? `when` is not asked. */
bool al_entry_is_wanted(const struct al_block *block, enum al_list list,
	const struct al_entry *entry);

/* Adds a module's entries of one list. Errors name the line. */
bool al_module_entries(struct al_ledger *ledger, struct al_ledger_module *module, enum al_list list,
	struct al_error *err) AL_MUST_CHECK;

/* How many iterations the outermost loop takes within the model; 0: there is no loop. */
bool al_ledger_layers(struct al_ledger *ledger, const struct al_loops *loops,
	enum al_component component, int64_t *out, struct al_error *err) AL_MUST_CHECK;

/* The attention modules of a whole model, equal ones once; or a single one alone. */
bool al_ledger_open_modules(struct al_ledger *ledger, struct al_error *err) AL_MUST_CHECK;
void al_ledger_open_alone(struct al_ledger *ledger);
void al_ledger_close_modules(struct al_ledger *ledger);

/* A new entry of a list, zeroed but for its numbers, which are initialized. */
struct al_ledger_entry *al_ledger_list_add(struct al_ledger *ledger, enum al_list list);

/* Everything but the numbers, which stay the entry's own. */
void al_entry_replace(struct al_ledger_entry *entry, struct al_ledger_entry by);

/* The list; errors of a module alone don't name the variant yet. */
bool al_ledger_entries(struct al_ledger *ledger, enum al_list list,
	const struct al_ledger_list **out, struct al_error *err) AL_MUST_CHECK;

/* The list of tensors, where it is known to be current. */
const struct al_ledger_list *al_ledger_tensors(const struct al_ledger *ledger);

/* How many tokens the products of a whole model's modules process. */
void al_ledger_set_tokens(struct al_ledger *ledger, int64_t seq);

/* The same of an entry of the family: copies at work are counted by its loops. */
/* Adds " * factor" to a text of the factors before, in brackets where it would read wrongly. */
void al_factor_add(struct al_text *text, const char *factor, bool is_only);

void al_entry_multiply_stored(struct al_ledger_entry *entry);
