/* Reading catalog files: what variants, recipes, models and families have in common.
 *
 * A reader knows the symbols that the file's formulas may use; any other one is refused where it
 * appears. What is read is copied into the arena and outlives the document. */
#pragma once

#include "base/record.h"
#include "catalog/catalog.h"

/* The standard symbols. */
struct al_symbols {
	struct al_symbol *items;
	size_t n;
	const char **names; /* [n] */
};

/* Parses the embedded symbols.json. */
bool al_symbols_load(struct al_arena *arena, struct al_symbols *out,
	struct al_error *err) AL_MUST_CHECK;
bool al_symbols_parse(struct al_arena *arena, const struct al_json *doc, struct al_symbols *out,
	struct al_error *err) AL_MUST_CHECK;

struct al_forward;
struct al_loops;
struct al_family_component;

/* Which family each component of another one is. */
struct al_composition {
	struct al_catalog *catalog;
	const struct al_symbols *standard;
	const char *const *families; /* by enum al_component; NULL, or one that is: the component's
					default */
};

struct al_reader {
	struct al_arena *arena;
	const struct al_json *doc;
	const char **symbols; /* that a formula may use */
	size_t n_symbols, room;
	const struct al_loops *loops; /* of the family's module that is being read */
	const struct al_composition *composition; /* of a family */
	const struct al_family_component *as; /* the component that a family is read as; or NULL */
	const char *prefix; /* prefix of all symbols that the file defines; "" is none */
};

/* `standard` may be NULL: then no symbol is known. */
void al_reader_init(struct al_reader *reader, struct al_arena *arena, const struct al_json *doc,
	const struct al_symbols *standard);

/* From here on formulas may use this symbol too; it must outlive the reader. */
void al_reader_know(struct al_reader *reader, const char *symbol);

/* Reads an object; functions of its rows get the reader as their context. */
bool al_read_record(struct al_reader *reader, const struct al_record *record,
	const struct al_item *object, void *out, struct al_error *err) AL_MUST_CHECK;

struct al_record_source al_reader_source(struct al_reader *reader);

/* A text, copied. */
bool al_read_text(struct al_reader *reader, const struct al_item *node, const char **out,
	struct al_error *err) AL_MUST_CHECK;

/* A name, or a path that is relative to the file; as a record's rows call it, into a const char *
 * of an al_reader. */
bool al_read_path(void *reader, const struct al_item *node, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* The key of a member, which must be the name of a symbol, copied: a variable, or what a variant
 * calls so. */
bool al_read_symbol(struct al_reader *reader, const struct al_item *member, const char **out,
	struct al_error *err) AL_MUST_CHECK;

/* The same of a symbol that the file defines, with the reader's prefix. */
bool al_read_own_symbol(struct al_reader *reader, const struct al_item *member, const char **out,
	struct al_error *err) AL_MUST_CHECK;

/* A formula: a text, or a whole number of at least 0. As a record's rows call it: of an al_reader,
 * into a const struct al_formula *. */
bool al_read_formula(void *reader, const struct al_item *node, void *out,
	struct al_error *err) AL_MUST_CHECK;

/* A symbol's value: a whole number of at least 0, or true and false as 1 and 0. */
bool al_read_value(struct al_reader *reader, const struct al_item *node, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* Where the object has the key, its text names one of the items, whose first member is their name;
 * else fails, naming the nearest. */
bool al_check_names_item(const struct al_json *doc, const struct al_item *object, const char *key,
	const char *what, const void *items, size_t n, size_t size,
	struct al_error *err) AL_MUST_CHECK;

/* ---- entries ---- */

enum al_entry_form {
	AL_FORM_TENSOR,
	AL_FORM_CACHE,
	AL_FORM_ACTIVATION,
	AL_FORM_PRODUCT,
	AL_N_FORMS,
};
extern const struct al_record al_entry_records[AL_N_FORMS];

/* A list of 1 to `n` formulas, into a struct al_shape. */
#define AL_SHAPE_FIELD(key, at, n) \
	{ \
		AL_KEY(key, LIST, (at) + offsetof(struct al_shape, dims)), \
			.is_required = true, .n_offset = (at) + offsetof(struct al_shape, n_dims), \
			.read = al_read_formula, .item_size = sizeof(struct al_formula *), \
			.least = 1, .most = (n), .noun = "dimensions" \
	}

/* Refuses two entries of a list that could exist under the same name. */
bool al_entries_check(struct al_reader *reader, const struct al_item *list,
	const struct al_entries *entries, struct al_error *err) AL_MUST_CHECK;

/* ---- whole files ---- */

/* Files that one record defines entirely, and the symbols that their formulas may use. */
struct al_file_kind {
	const struct al_record *record;
	bool has_standard; /* the standard symbols, and these: */
	const char *const *symbols;
	size_t n_symbols;
};
extern const struct al_file_kind al_variant_file, al_recipe_file, al_model_file, al_scheme_file;

/* `out`: a new struct al_recipe, al_scheme ... of the object; a model keeps pointing into the
 * document. */
bool al_read_file(const struct al_file_kind *kind, struct al_arena *arena,
	const struct al_json *doc, const struct al_item *object, const struct al_symbols *standard,
	void **out, struct al_error *err) AL_MUST_CHECK;
/* As it was in the version after the name's "@", or in the newest that the file knows. */
bool al_engine_read(struct al_arena *arena, const struct al_json *doc, const char *name, void **out,
	struct al_error *err) AL_MUST_CHECK;
/* As a component, its symbols have the component's prefix. */
bool al_family_read(struct al_arena *arena, const struct al_json *doc,
	const struct al_composition *composition, const struct al_family_component *as,
	struct al_family **out, struct al_error *err) AL_MUST_CHECK;
/* How the family of the file runs, by its "forward"; NULL: the file has none. */
bool al_forward_read(struct al_arena *arena, const struct al_json *doc,
	const struct al_symbols *standard, const struct al_family *family,
	const struct al_forward **out, struct al_error *err) AL_MUST_CHECK;
/* Makes the file of a family that is "like" another one complete: merges the other's into it. */
bool al_family_complete(struct al_catalog *catalog, struct al_json *doc,
	struct al_error *err) AL_MUST_CHECK;
/* The complete file of a family, built in or a user's; the caller's to finish. */
bool al_catalog_family_document(struct al_catalog *catalog, const char *name, struct al_json *doc,
	struct al_error *err) AL_MUST_CHECK;
