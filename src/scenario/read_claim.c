/* Reading a scenario's claims and errata. */
#include "scenario/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static bool read_with(struct al_scenario *s, const struct cJSON *node, struct claim *claim,
	struct al_error *err)
{
	claim->with = al_new_array(&s->arena, struct named_path, al_json_size(node) + 1);
	al_json_each (member, node) {
		if (is_note(member))
			continue;
		struct named_path *item = &claim->with[claim->n_with++];
		item->name = al_json_key(member);
		if (!al_json_text(&s->doc, member, &item->path, err))
			return false;
	}
	return true;
}

static bool read_value(struct al_scenario *s, const struct cJSON *node, struct claim *claim,
	struct al_error *err)
{
	const struct cJSON *with;
	const char *value = NULL;

	if (!al_json_get_node(&s->doc, node, "with", AL_JSON_OBJECT, false, &with, err)
		|| !al_json_get_text(&s->doc, node, "value", false, &value, err)
		|| !al_json_get_text(&s->doc, node, "underivable", false, &claim->underivable, err))
		return false;
	if (!value == !claim->underivable)
		return al_json_fail(&s->doc, node, err,
			"claim %s needs either \"value\" or \"underivable\"", claim->id);
	if (!value)
		return true;
	claim->path = value;
	if (!with)
		return true;
	return read_with(s, with, claim, err)
		&& (al_formula_parse(&s->arena, value, AL_DIALECT_CELLS, &claim->formula, err)
			|| al_json_in(&s->doc, al_json_get(node, "value"), err));
}

static bool read_claim(struct al_scenario *s, const struct cJSON *node, struct claim *claim,
	struct al_error *err)
{
	static const char *const keys[] = {"id", "where", "printed", "value", "with", "relation",
		"rounding", "approximate", "unit", "symbols", "underivable"};
	static const char *const relations[] = {"=", "<", ">", "in"};
	static const char *const roundings[] = {"half", "truncated", "about", "more-than",
		"less-than", "range"};
	int relation = RELATION_EQUAL, rounding = ROUNDING_HALF;

	claim->node = node;
	if (!al_json_only(&s->doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_json_get_text(&s->doc, node, "id", true, &claim->id, err)
		|| !al_json_get_text(&s->doc, node, "printed", true, &claim->printed, err)
		|| !al_json_get_text(&s->doc, node, "where", false, &claim->where, err)
		|| !al_json_get_text(&s->doc, node, "unit", false, &claim->unit, err)
		|| !al_json_get_boolean(&s->doc, node, "approximate", false, &claim->is_approximate,
			err)
		|| !read_word(s, node, "relation", relations, 4, &relation, err)
		|| !read_word(s, node, "rounding", roundings, 6, &rounding, err)
		|| !read_substitutions(s, al_json_get(node, "symbols"), &claim->symbols,
			&claim->n_symbols, err))
		return false;
	claim->relation = (enum relation)relation;
	claim->rounding = (enum rounding)rounding;
	return read_value(s, node, claim, err);
}

/* ---- errata ---- */

static int compare_claims(const void *a, const void *b)
{
	const struct claim *const *left = a, *const *right = b;

	return strcmp((*left)->id, (*right)->id);
}

/* The claims by id, for look-ups and to see that none appears twice. */
static bool sort_claims(struct al_scenario *s, struct claim **list, struct al_error *err)
{
	for (size_t i = 0; i < s->n_claims; i++)
		list[i] = &s->claims[i];
	qsort(list, s->n_claims, sizeof(*list), compare_claims);
	for (size_t i = 1; i < s->n_claims; i++)
		if (strcmp(list[i - 1]->id, list[i]->id) == 0)
			return al_json_fail(&s->doc, list[i]->node, err, "claim %s appears twice",
				list[i]->id);
	return true;
}

static bool read_erratum(struct al_scenario *s, const struct cJSON *node, struct claim **sorted,
	struct al_error *err)
{
	static const char *const keys[] = {"id", "reason"};
	struct claim wanted = {0}, *key = &wanted;
	const char *reason;

	if (!al_json_only(&s->doc, node, keys, 2, err)
		|| !al_json_get_text(&s->doc, node, "id", true, &wanted.id, err)
		|| !al_json_get_text(&s->doc, node, "reason", true, &reason, err))
		return false;
	struct claim **found = bsearch(&key, sorted, s->n_claims, sizeof(*sorted), compare_claims);
	if (!found)
		return al_json_fail(&s->doc, node, err,
			"erratum of \"%s\", which is no claim of this file", wanted.id);
	if ((*found)->erratum)
		return al_json_fail(&s->doc, node, err, "erratum of \"%s\" appears twice",
			wanted.id);
	(*found)->erratum = reason;
	return true;
}

bool read_claims(struct al_scenario *s, const struct cJSON *claims, const struct cJSON *errata,
	struct al_error *err)
{
	s->claims = al_new_array(&s->arena, struct claim, al_json_size(claims) + 1);
	al_json_each (node, claims)
		if (!read_claim(s, node, &s->claims[s->n_claims++], err))
			return false;
	struct claim **sorted = al_new_array(&s->arena, struct claim *, s->n_claims + 1);
	if (!sort_claims(s, sorted, err))
		return false;
	al_json_each (node, errata)
		if (!read_erratum(s, node, sorted, err))
			return false;
	return true;
}
