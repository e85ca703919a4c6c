/* What the parts of a scenario file share: names, words, ids, symbols, changes of a case's
 * conditions, substitutions. */
#include "scenario/read.h"

const char *const al_direction_words[3] = {
	[AL_PLAIN] = "plain",
	[AL_HIGHER_IS_BETTER] = "higher",
	[AL_LOWER_IS_BETTER] = "lower",
};

bool al_object_read(struct al_scenario *s, const struct al_record *record,
	const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_record_source source = {&s->arena, &s->doc, s};

	return al_record_read(&source, record, node, out, err);
}

/* ---- values ---- */

bool al_id_check(const char *id, struct al_error *err)
{
	return (*id && *id != '-'
		       && strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(id))
		|| al_fail(err, AL_EINPUT,
			"id \"%s\" may only contain lower-case letters, digits and '-'", id);
}

bool al_scenario_find_id(void *context, const char *id, void *out, struct al_error *err)
{
	const struct al_scenario *s = context;

	*(const char **)out = id;
	if (!al_id_check(id, err))
		return false;
	return !(AL_PART(s, tables, id) || AL_PART(s, sweeps, id) || AL_PART(s, data, id)
		       || AL_PART(s, listings, id) || AL_PART(s, questions, id))
		|| al_fail(err, AL_EINPUT, "the id \"%s\" appears twice", id);
}

bool al_scenario_find_model(void *context, const char *name, void *out, struct al_error *err)
{
	return al_catalog_model(((struct al_scenario *)context)->catalog, name, out, err);
}

bool al_scenario_find_recipe(void *context, const char *name, void *out, struct al_error *err)
{
	return al_catalog_recipe(((struct al_scenario *)context)->catalog, name, out, err);
}

bool al_scenario_find_formula(void *context, const char *text, void *out, struct al_error *err)
{
	return al_formula_parse(&((struct al_scenario *)context)->arena, text, AL_DIALECT_CELLS,
		out, err);
}

/* ---- names of what was read before ---- */

bool al_scenario_find_case(void *context, const char *id, void *out, struct al_error *err)
{
	return (*(const struct al_case **)out = al_case_find(context, id, err)) != NULL;
}

bool al_scenario_find_variant(void *context, const char *name, void *out, struct al_error *err)
{
	const struct al_configured_variant **variant = out;

	return (*variant = al_variant_find(context, name, err)) != NULL;
}

bool al_scenario_find_counted(void *context, const char *name, void *out, struct al_error *err)
{
	return al_variant_find_counted(context, name, out, err);
}

bool al_scenario_find_symbol(void *context, const char *symbol, void *out, struct al_error *err)
{
	*(const char **)out = symbol;
	return al_symbol_is_known(context, symbol)
		|| al_unknown_fail(context, AL_NAMES_SYMBOLS, "symbol", symbol, err);
}

bool al_member_symbol_check(const struct al_scenario *s, const struct al_item *member,
	struct al_error *err)
{
	const char *symbol = al_json_key(member);

	return al_symbol_is_known(s, symbol)
		|| al_unknown_fail(s, AL_NAMES_SYMBOLS, "symbol", symbol, err)
		|| al_json_in(&s->doc, member, err);
}

bool al_member_is_note(const struct al_item *member)
{
	return strcmp(al_json_key(member), "note") == 0;
}

bool al_chosen_cases_complete(struct al_scenario *s, const struct al_item *node, size_t n,
	struct al_chosen_cases *cases, struct al_error *err)
{
	if (cases->n > 0)
		return !cases->one
			|| al_json_fail(&s->doc, node, err,
				"expected either \"case\" or \"cases\"");
	cases->n = cases->one ? 1 : n;
	cases->items = al_new_array(&s->arena, const struct al_case *, cases->n);
	for (size_t i = 0; i < cases->n; i++)
		cases->items[i] = cases->one ? cases->one : &s->cases[i];
	return true;
}

/* ---- changes of a case's conditions ---- */

bool al_scenario_read_set(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	const struct al_scenario *s = context;
	struct al_change_of_symbol *change = out;

	change->symbol = al_json_key(member);
	return al_member_symbol_check(s, member, err)
		&& al_json_whole_from(&s->doc, member, 0, &change->value, err);
}

/* The value of a basis key as the command line writes it: "full", "true", "query,key". */
static bool basis_value(struct al_scenario *s, const struct al_item *node, const char **out,
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
bool al_scenario_read_basis(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_change_of_basis *change = out;
	struct al_basis tried;

	change->key = al_json_key(member);
	if (!basis_value(s, member, &change->value, err))
		return false;
	al_basis_init(&tried);
	return al_basis_set(&tried, change->key, change->value, err)
		|| al_json_in(&s->doc, member, err);
}

bool al_scenario_read_per(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	const struct al_scenario *s = context;

	return al_json_expect(&s->doc, node, AL_JSON_TEXT, err)
		&& al_scenario_read_basis(context, node, out, err);
}

/* ---- how a table is arranged ---- */

static const struct al_field sort_fields[] = {
	{AL_KEY("by", TEXT, offsetof(struct al_arrangement, sort_by)), .is_required = true},
	{AL_KEY("descending", BOOLEAN, offsetof(struct al_arrangement, sort_descends))},
};
const struct al_record al_sort_record = {.fields = AL_FIELDS(sort_fields)};

static bool check_column(const struct al_scenario *s, const struct al_item *node,
	const struct al_names *names, size_t n, const char *name, struct al_error *err)
{
	return !name || al_find_name(name, names->items, n) >= 0
		|| al_fail_unknown(err, "column", name, names->items, n)
		|| al_json_in(&s->doc, node, err);
}

bool al_arrangement_check(const struct al_scenario *s, const struct al_item *node,
	const struct al_arrangement *a, const struct al_names *names, size_t n_keys,
	struct al_error *err)
{
	const struct al_item *keys = al_json_get(node, "keys");
	size_t i = 0;

	if (keys && !a->pivot_by)
		return al_json_fail(&s->doc, keys, err, "\"keys\" needs \"pivot\"");
	al_json_each (key, keys)
		if (!check_column(s, key, names, n_keys, a->keys[i++], err))
			return false;
	return check_column(s, al_json_get(node, "pivot"), names, n_keys, a->pivot_by, err)
		&& check_column(s, al_json_get(node, "sort"), names, names->n, a->sort_by, err);
}

/* ---- substitutions ---- */

bool al_scenario_read_letter(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_substitution *substitution = out;
	const char *text;

	substitution->symbol = al_json_key(member);
	return al_json_text(&s->doc, member, &text, err)
		&& (al_formula_parse(&s->arena, text, AL_DIALECT_CATALOG, &substitution->formula,
			    err)
			|| al_json_in(&s->doc, member, err));
}

bool al_scenario_read_substitution(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	return al_scenario_read_letter(context, member, out, err)
		&& al_member_symbol_check(context, member, err);
}
