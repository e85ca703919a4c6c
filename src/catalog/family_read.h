/* Inside the catalog: what the files that read a family share. A reader is the context of a
 * record's rows (read.h). */
#pragma once

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

/* A family as the component that the reader reads it as: there only where the component is, with
 * every symbol of its variants from its own config. */
bool al_component_adapt(struct al_reader *reader, struct al_family *family,
	struct al_error *err) AL_MUST_CHECK;

/* Makes the components' keys, modules and tensors the family's own, the text's first. */
void al_family_compose(struct al_family *family, struct al_arena *arena);

/* A text, or a list of texts. */
#define AL_TEXTS_FIELD(key, at, n_at) \
	AL_KEY(key, LIST, at), .n_offset = (n_at), .or_one = true, .least = 1, \
			       .most = AL_FAMILY_ITEMS, .noun = "texts"
