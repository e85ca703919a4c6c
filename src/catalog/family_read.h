/* Inside the catalogue: what the files that read a family share. A reader is the context of a
 * record's rows (read.h). */
#ifndef ATTNLEDGER_CATALOG_FAMILY_READ_H
#define ATTNLEDGER_CATALOG_FAMILY_READ_H

#include "catalog/family.h"
#include "catalog/read.h"

enum { AL_FAMILY_ITEMS = 1024 };

/* The name of a number format, into a const char *. */
bool al_read_dtype(void *reader, const struct al_item *node, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* A number, or an object that names the config's key, into a struct al_config_number. */
bool al_read_config_number(void *reader, const struct al_item *node, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* A formula, or true or false as 1 or 0, into a const struct al_formula *. */
bool al_read_formula_or_flag(void *reader, const struct al_item *node, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* A member of "config", into a struct al_config_key. A default may use the symbols before it: no
 * chain of defaults comes back to itself. */
bool al_read_config_key(void *reader, const struct al_item *member, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* A member of a "for", into a struct al_loop. What follows may use its variable. */
bool al_read_loop(void *reader, const struct al_item *member, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* Every {variable} of a name must be a loop's. */
bool al_check_loop_variables(struct al_reader *reader, const struct al_item *node, const char *name,
	const struct al_loops *loops, struct al_error *err) AL_MUST_CHECK;

/* A symbol and its value, into a struct al_module_set. */
bool al_read_set(void *reader, const struct al_item *member, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* A member of "architectures", into a struct al_architecture. Formulas that follow may use the
 * symbols that it sets. */
bool al_read_architecture(void *reader, const struct al_item *member, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* A member of "components", into a struct al_family_component, with its family read. Formulas that
 * follow may use its symbols. */
bool al_read_component(void *reader, const struct al_item *member, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* What a family's key becomes in a component; NULL: stays as it is. `symbol` is as the family calls
 * it. */
void al_component_take_key(const struct al_family_component *as, const char *symbol,
	struct al_config_key *key);

/* A family as the component that the reader reads it as: there only where the component is, with
 * every symbol of its variants from its own config. */
bool al_component_adapt(struct al_reader *reader, struct al_family *family,
	struct al_error *err) AL_MUST_CHECK;

/* Makes the components' keys, modules and tensors the family's own, the text's first. */
void al_family_compose(struct al_family *family, struct al_arena *arena);

/* An item of "modules", into a struct al_family_module. */
bool al_read_family_module(void *reader, const struct al_item *node, void *out,
	struct al_error *err) AL_MUST_CHECK;

extern const char *const al_order_names[2];
extern const char *const al_stack_names[AL_N_STACKS];

/* A text, or a list of texts. */
#define AL_TEXTS_FIELD(key, at, n_at) \
	AL_KEY(key, LIST, at), .n_offset = (n_at), .or_one = true, .least = 1, \
			       .most = AL_FAMILY_ITEMS, .noun = "texts"
#define AL_LOOPS_FIELD(at) \
	{ \
		AL_KEY("for", MEMBERS, (at) + offsetof(struct al_loops, items)), \
			.n_offset = (at) + offsetof(struct al_loops, n), .read = al_read_loop, \
			.item_size = sizeof(struct al_loop), .most = AL_FAMILY_LOOPS, \
			.noun = "loops" \
	}
#define AL_COMPONENT_FIELD(at) \
	{ \
		AL_KEY("component", WORD, at), AL_WORDS(al_component_names), \
			.fallback = AL_COMPONENT_TEXT \
	}
#define AL_ORDER_FIELD(at) \
	{ \
		AL_KEY("order", WORD, at), AL_WORDS(al_order_names), .fallback = AL_ORDER_OUT_IN \
	}
#define AL_STACK_FIELD(at) \
	{ \
		AL_KEY("stack", WORD, at), AL_WORDS(al_stack_names), .fallback = AL_STACK_ONLY \
	}

#endif
