/* Columns: the one list of what a key can ask of a row. */
#include "scenario/column.h"

#include <string.h>

#include "base/hash.h"

static const struct al_column_kind kinds[] = {
	{.key = "saving",
		.title = "Saving",
		.unit = "%",
		.digits = 2,
		.needs_basis = true,
		.needs_recipe = true,
		.evaluate = al_column_saving},
	{.key = "modules", .digits = AL_DIGITS_ALL, .evaluate = al_column_modules},
	{.key = "formula",
		.digits = AL_DIGITS_ALL,
		.needs_basis = true,
		.evaluate = al_column_formula},
	{.key = "difference",
		.digits = AL_DIGITS_ALL,
		.needs_basis = true,
		.evaluate = al_column_difference},
	{.key = "order", .digits = AL_DIGITS_ALL, .evaluate = al_column_order},
	{.key = "score:", .digits = AL_DIGITS_ALL, .evaluate = al_column_score},
	{.key = "prr:",
		.unit = "%",
		.digits = AL_DIGITS_ALL,
		.best = AL_HIGHER_IS_BETTER,
		.evaluate = al_column_retention},
	{.key = "peop:",
		.digits = AL_DIGITS_ALL,
		.best = AL_HIGHER_IS_BETTER,
		.needs_basis = true,
		.evaluate = al_column_elasticity},
};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

static bool names_metric(const char *key)
{
	return key[strlen(key) - 1] == ':';
}

/* The ledger's measures are its own list. */
static struct al_column_kind kind_of_measure(enum al_measure which)
{
	const struct al_measure_info *info = &al_measures[which];

	return (struct al_column_kind){.key = info->key,
		.title = info->title,
		.unit = info->unit,
		.quantity = (enum al_quantity)info->quantity,
		.digits = AL_DIGITS_ALL,
		.needs_basis = true,
		.needs_recipe = info->needs_recipe,
		.evaluate = al_column_measure,
		.name = info->key,
		.measure = which};
}

/* A metric's bare name, as formulas use it, or a symbol. */
static struct al_column_kind kind_of_name(const struct al_scenario *s, const char *name)
{
	struct al_column_kind kind = {.key = name,
		.digits = AL_DIGITS_ALL,
		.evaluate = al_column_symbol,
		.name = name};

	if (al_metric_find(s, name, &kind.set, &kind.metric))
		kind.evaluate = al_column_score;
	return kind;
}

struct al_column_kind al_column_kind_of(const struct al_scenario *s, const char *key)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		size_t n = strlen(kinds[i].key);
		if (strncmp(key, kinds[i].key, names_metric(kinds[i].key) ? n : n + 1) != 0)
			continue;
		struct al_column_kind kind = kinds[i];
		kind.name = names_metric(kind.key) ? key + n : key;
		if (names_metric(kind.key))
			al_metric_find(s, kind.name, &kind.set, &kind.metric);
		return kind;
	}
	int which = al_measure_find(key);
	return which < 0 ? kind_of_name(s, key) : kind_of_measure((enum al_measure)which);
}

struct al_known_kind {
	struct al_known_kind *next;
	const char *key;
	struct al_column_kind kind;
};

const struct al_column_kind *al_evaluator_kind(struct al_evaluator *evaluator, const char *key)
{
	uint64_t hash = al_hash(AL_HASH_EMPTY, key, strlen(key));
	struct al_known_kind **list = &evaluator->kinds[hash % AL_KIND_LISTS], *known = *list;

	while (known && strcmp(known->key, key) != 0)
		known = known->next;
	if (!known) {
		known = al_new(evaluator->arena, struct al_known_kind);
		known->key = al_strdup(evaluator->arena, key);
		known->kind = al_column_kind_of(evaluator->scenario, known->key);
		known->next = *list;
		*list = known;
	}
	return &known->kind;
}

const char *al_column_metric(const struct al_column_kind *kind)
{
	return kind->name != kind->key && names_metric(kind->key) ? kind->name : NULL;
}

bool al_column_is_known(const struct al_scenario *s, const struct al_column_kind *kind)
{
	return (kind->evaluate != al_column_symbol && kind->evaluate != al_column_score)
		|| al_column_metric(kind) || al_symbol_is_known(s, kind->name);
}

void al_column_add_keys(const struct al_scenario *s, struct al_names *names)
{
	for (int i = 0; i < AL_N_MEASURES; i++)
		al_names_add(names, al_measures[i].key);
	for (size_t i = 0; i < N_KINDS; i++)
		if (!names_metric(kinds[i].key))
			al_names_add(names, kinds[i].key);
	al_names_add_of(s, AL_NAMES_SYMBOLS, names);
}
