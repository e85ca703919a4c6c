/* Reading a scenario's claims and errata. */
#include "scenario/read.h"

static bool read_with(void *context, const struct al_item *member, void *out, struct al_error *err)
{
	const struct al_scenario *s = context;
	struct al_named_path *item = out;

	item->name = al_json_key(member);
	return al_json_text(&s->doc, member, &item->path, err);
}

/* A value is a path, or with names for several paths a formula. */
static bool finish_claim(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_scenario_claim *claim = record;

	claim->node = node;
	if ((claim->kind == AL_CLAIM_READING) != (claim->of != NULL))
		return al_json_fail(&s->doc, node, err,
			"claim %s: readings, and only readings, need \"of\"", claim->id);
	if (claim->kind == AL_CLAIM_STATEMENT && !claim->underivable)
		return al_json_fail(&s->doc, node, err,
			"claim %s has no number: mark it \"underivable\" and give the reason",
			claim->id);
	if (!claim->path == !claim->underivable)
		return al_json_fail(&s->doc, node, err,
			"claim %s needs either \"value\" or \"underivable\"", claim->id);
	return !claim->path || !claim->with
		|| al_formula_parse(&s->arena, claim->path, AL_DIALECT_CELLS, &claim->formula, err)
		|| al_json_in(&s->doc, al_json_get(node, "value"), err);
}

/* "1%": a hundredth. */
static bool find_within(void *context, const char *text, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	const size_t n = strlen(text);
	mpq_ptr share = al_exact_new(&s->arena);
	int digits;

	if (n < 2 || text[n - 1] != '%'
		|| !al_exact_parse(al_strndup(&s->arena, text, n - 1), share, &digits)
		|| mpq_sgn(share) <= 0)
		return al_fail(err, AL_EINPUT, "expected a percentage such as \"1%%\"");
	*(mpq_srcptr *)out = al_exact_scaled(&s->arena, share, 1, 100);
	return true;
}

const char *const al_claim_kind_names[AL_N_CLAIM_KINDS] = {"printed", "reading", "derived",
	"identity", "repeat", "statement"};
static const char *const relations[] = {"=", "<", ">", "in"};
static const char *const roundings[] = {"half", "truncated", "about", "more-than", "less-than",
	"range"};

#define AT(member) offsetof(struct al_scenario_claim, member)
static const struct al_field claim_fields[] = {
	{AL_KEY("id", TEXT, AT(id)), .is_required = true},
	{AL_KEY("where", TEXT, AT(where))},
	{AL_KEY("printed", TEXT, AT(printed)), .is_required = true},
	{AL_KEY("value", TEXT, AT(path))},
	{AL_KEY("with", MEMBERS, AT(with)), .n_offset = AT(n_with), .read = read_with,
		.item_size = sizeof(struct al_named_path)},
	{AL_KEY("kind", WORD, AT(kind)), AL_WORDS(al_claim_kind_names)},
	{AL_KEY("of", TEXT, AT(of))},
	{AL_KEY("relation", WORD, AT(relation)), AL_WORDS(relations)},
	{AL_KEY("rounding", WORD, AT(rounding)), AL_WORDS(roundings)},
	{AL_KEY("approximate", BOOLEAN, AT(is_approximate))},
	{AL_KEY("within", BY, AT(within)), .find = find_within},
	{AL_KEY("unit", TEXT, AT(unit))},
	AL_SUBSTITUTIONS("symbols", AT(symbols), AT(n_symbols), al_scenario_read_letter),
	{AL_KEY("underivable", TEXT, AT(underivable))},
};
#undef AT
const struct al_record al_claim_record = {
	.fields = AL_FIELDS(claim_fields),
	.size = sizeof(struct al_scenario_claim),
	.check = finish_claim,
};

/* ---- errata ---- */

static int compare_claims(const void *a, const void *b)
{
	const struct al_scenario_claim *const *left = a, *const *right = b;

	return strcmp((*left)->id, (*right)->id);
}

/* The claims by id, for look-ups and to see that none appears twice. */
static bool sort_claims(struct al_scenario *s, struct al_scenario_claim **list,
	struct al_error *err)
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

static struct al_scenario_claim *find_claim(const struct al_scenario *s,
	struct al_scenario_claim **sorted, const char *id)
{
	struct al_scenario_claim wanted = {.id = id}, *key = &wanted;
	struct al_scenario_claim **found = bsearch(&key, sorted, s->n_claims, sizeof(*sorted),
		compare_claims);

	return found ? *found : NULL;
}

/* A reading finds the claim whose number it reads. */
static bool join_readings(struct al_scenario *s, struct al_scenario_claim **sorted,
	struct al_error *err)
{
	for (size_t i = 0; i < s->n_claims; i++) {
		struct al_scenario_claim *claim = &s->claims[i];
		claim->first = claim->of ? find_claim(s, sorted, claim->of) : claim;
		if (!claim->first || claim->first->of)
			return al_json_fail(&s->doc, claim->node, err,
				"claim %s reads \"%s\", which isn't a claim of this file, or is "
				"itself a reading",
				claim->id, claim->of);
	}
	return true;
}

struct erratum {
	const char *id, *reason;
};

static const struct al_field erratum_fields[] = {
	{AL_KEY("id", TEXT, offsetof(struct erratum, id)), .is_required = true},
	{AL_KEY("reason", TEXT, offsetof(struct erratum, reason)), .is_required = true},
};
static const struct al_record erratum_record = {.fields = AL_FIELDS(erratum_fields)};

static bool read_erratum(struct al_scenario *s, const struct al_item *node,
	struct al_scenario_claim **sorted, struct al_error *err)
{
	struct erratum erratum = {0};

	if (!al_object_read(s, &erratum_record, node, &erratum, err))
		return false;
	struct al_scenario_claim *found = find_claim(s, sorted, erratum.id);
	if (!found)
		return al_json_fail(&s->doc, node, err,
			"erratum of \"%s\", which isn't a claim of this file", erratum.id);
	if (found->of)
		return al_json_fail(&s->doc, node, err,
			"erratum of \"%s\", which is a reading of \"%s\"", erratum.id, found->of);
	if (found->erratum)
		return al_json_fail(&s->doc, node, err, "erratum of \"%s\" appears twice",
			erratum.id);
	found->erratum = erratum.reason;
	return true;
}

bool al_scenario_read_errata(void *context, const struct al_item *errata, void *out,
	struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_scenario_claim **sorted = al_new_array(&s->arena, struct al_scenario_claim *,
		s->n_claims);

	(void)out;
	if (!sort_claims(s, sorted, err) || !join_readings(s, sorted, err)
		|| (errata && !al_json_expect(&s->doc, errata, AL_JSON_ARRAY, err)))
		return false;
	al_json_each (node, errata)
		if (!read_erratum(s, node, sorted, err))
			return false;
	return true;
}
