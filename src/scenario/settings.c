/* What the parts of a scenario file share: words, ids, symbols, changes of a case's conditions,
 * substitutions. */
#include "scenario/read.h"

#include <string.h>

#include "base/text.h"

/* ---- words ---- */

bool al_object_read(struct al_scenario *s, const struct al_record *record, const struct cJSON *node,
	void *out, struct al_error *err)
{
	const struct al_record_source source = {&s->arena, &s->doc, s};

	return al_record_read(&source, record, node, out, err);
}

bool al_word_read(const struct al_scenario *s, const struct cJSON *owner, const char *key,
	const char *const *words, size_t n, int *out, struct al_error *err)
{
	const char *word = NULL;

	if (!al_json_get_text(&s->doc, owner, key, false, &word, err))
		return false;
	if (!word)
		return true;
	*out = al_find_name(word, words, n);
	if (*out >= 0)
		return true;
	al_fail_unknown(err, key, word, words, n);
	return al_json_in(&s->doc, al_json_get(owner, key), err);
}

/* ---- symbols ---- */

bool al_member_is_note(const struct cJSON *member)
{
	return strcmp(al_json_key(member), "note") == 0;
}

static bool fail_unknown_symbol(const struct al_scenario *s, const char *symbol,
	struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	al_symbol_add_names(s, &names);
	return al_names_fail(&names, "symbol", symbol, err);
}

bool al_symbol_name_check(const struct al_scenario *s, const struct cJSON *node, const char *symbol,
	struct al_error *err)
{
	if (al_symbol_is_known(s, symbol))
		return true;
	fail_unknown_symbol(s, symbol, err);
	return al_json_in(&s->doc, node, err);
}

bool al_member_symbol_check(const struct al_scenario *s, const struct cJSON *member,
	struct al_error *err)
{
	return al_symbol_name_check(s, member, al_json_key(member), err);
}

/* ---- changes of a case's conditions ---- */

static bool read_set(struct al_scenario *s, const struct cJSON *node, struct al_changes *changes,
	struct al_error *err)
{
	if (!node)
		return true;
	if (!al_json_expect(&s->doc, node, AL_JSON_OBJECT, err))
		return false;
	changes->symbols = al_new_array(&s->arena, struct al_change_of_symbol,
		al_json_size(node) + 1);
	al_json_each (member, node) {
		struct al_change_of_symbol *change = &changes->symbols[changes->n_symbols];
		if (al_member_is_note(member))
			continue;
		change->symbol = al_json_key(member);
		if (!al_member_symbol_check(s, member, err)
			|| !al_json_whole_from(&s->doc, member, 0, &change->value, err))
			return false;
		changes->n_symbols++;
	}
	return true;
}

/* The value of a basis key as the command line writes it: "full", "true", "query,key". */
static bool basis_value(struct al_scenario *s, const struct cJSON *node, const char **out,
	struct al_error *err)
{
	const char *item, *joined = NULL;
	bool is_true;

	switch (al_json_kind(node)) {
	case AL_JSON_BOOLEAN:
		if (!al_json_boolean(&s->doc, node, &is_true, err))
			return false;
		*out = is_true ? "true" : "false";
		return true;
	case AL_JSON_ARRAY:
		al_json_each (child, node) {
			if (!al_json_text(&s->doc, child, &item, err))
				return false;
			joined = joined ? al_format(&s->arena, "%s,%s", joined, item) : item;
		}
		*out = joined ? joined : "";
		return true;
	default:
		return al_json_text(&s->doc, node, out, err);
	}
}

/* Tried on a basis of its own, so that applying it to a case's cannot fail. */
static bool add_basis(struct al_scenario *s, const struct cJSON *node, const char *key,
	const char *value, struct al_changes *changes, struct al_error *err)
{
	struct al_basis tried;

	al_basis_init(&tried);
	changes->bases[changes->n_bases++] = (struct al_change_of_basis){key, value};
	return al_basis_set(&tried, key, value, err) || al_json_in(&s->doc, node, err);
}

/* `per` beside the basis is short for the one within it, and stronger. */
static bool read_basis(struct al_scenario *s, const struct cJSON *owner, struct al_changes *changes,
	struct al_error *err)
{
	const struct cJSON *node = al_json_get(owner, "basis"), *per = al_json_get(owner, "per");
	const char *value;

	if (node && !al_json_expect(&s->doc, node, AL_JSON_OBJECT, err))
		return false;
	changes->bases = al_new_array(&s->arena, struct al_change_of_basis, al_json_size(node) + 2);
	al_json_each (member, node)
		if (!al_member_is_note(member)
			&& (!basis_value(s, member, &value, err)
				|| !add_basis(s, member, al_json_key(member), value, changes, err)))
			return false;
	return !per
		|| (al_json_text(&s->doc, per, &value, err)
			&& add_basis(s, per, "per", value, changes, err));
}

static bool read_recipe(struct al_scenario *s, const struct cJSON *node,
	const struct al_recipe **recipe, struct al_error *err)
{
	const char *name;

	return !node
		|| (al_json_text(&s->doc, node, &name, err)
			&& (al_catalog_recipe(s->catalog, name, recipe, err)
				|| al_json_in(&s->doc, node, err)));
}

bool al_changes_read(struct al_scenario *s, const struct cJSON *owner, const char *origin,
	struct al_changes *changes, struct al_error *err)
{
	*changes = (struct al_changes){.origin = origin};
	return read_set(s, al_json_get(owner, "set"), changes, err)
		&& read_basis(s, owner, changes, err)
		&& read_recipe(s, al_json_get(owner, "recipe"), &changes->recipe, err);
}

/* ---- substitutions ---- */

static bool read_formula(struct al_scenario *s, const struct cJSON *node, enum al_dialect dialect,
	const struct al_formula **out, struct al_error *err)
{
	const char *text;

	return al_json_text(&s->doc, node, &text, err)
		&& (al_formula_parse(&s->arena, text, dialect, out, err)
			|| al_json_in(&s->doc, node, err));
}

bool al_substitutions_read(struct al_scenario *s, const struct cJSON *node,
	struct al_substitution **out, size_t *n, struct al_error *err)
{
	*n = 0;
	*out = NULL;
	if (!node)
		return true;
	if (!al_json_expect(&s->doc, node, AL_JSON_OBJECT, err))
		return false;
	*out = al_new_array(&s->arena, struct al_substitution, al_json_size(node) + 1);
	al_json_each (member, node) {
		if (al_member_is_note(member))
			continue;
		struct al_substitution *item = &(*out)[*n];
		item->symbol = al_json_key(member);
		if (!read_formula(s, member, AL_DIALECT_CATALOG, &item->formula, err))
			return false;
		++*n;
	}
	return true;
}

bool al_id_read(const struct al_scenario *s, const struct cJSON *node, const char **id,
	struct al_error *err)
{
	if (!al_json_get_text(&s->doc, node, "id", true, id, err))
		return false;
	for (const char *p = *id; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", *p) || (p == *id && *p == '-'))
			return al_json_fail(&s->doc, al_json_get(node, "id"), err,
				"id \"%s\" must be of small letters, digits and '-'", *id);
	if (!**id)
		return al_json_fail(&s->doc, al_json_get(node, "id"), err, "the id is empty");
	if (al_table_find(s, *id) || al_sweep_find(s, *id) || al_data_find(s, *id))
		return al_json_fail(&s->doc, al_json_get(node, "id"), err,
			"the id \"%s\" appears twice", *id);
	return true;
}
