/* Columns: the one list of what a key can ask of a row. */
#include "scenario/column.h"

#include "base/hash.h"

static const struct al_column_kind kinds[] = {
	{.column = {.key = "saving", .title = "Saving", .unit = "%", .digits = 2},
		.needs_basis = true,
		.needs_recipe = true,
		.evaluate = al_column_saving},
	{.column = {.key = "modules", .digits = AL_DIGITS_ALL}, .evaluate = al_column_modules},
	{.column = {.key = "formula", .digits = AL_DIGITS_ALL},
		.needs_basis = true,
		.evaluate = al_column_formula},
	{.column = {.key = "cache_formula", .title = "Cached per token", .digits = AL_DIGITS_ALL},
		.needs_basis = true,
		.evaluate = al_column_cache_formula},
	{.column = {.key = "difference", .digits = AL_DIGITS_ALL},
		.needs_basis = true,
		.evaluate = al_column_difference},
	{.column = {.key = "order", .digits = AL_DIGITS_ALL}, .evaluate = al_column_order},
	{.column = {.key = "score:", .digits = AL_DIGITS_ALL}, .evaluate = al_column_score},
	{.column = {.key = "prr:", .unit = "%", .digits = AL_DIGITS_ALL},
		.best = AL_HIGHER_IS_BETTER,
		.evaluate = al_column_retention},
	{.column = {.key = "peop:", .digits = AL_DIGITS_ALL},
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
	return (struct al_column_kind){.column = al_measure_column(which),
		.needs_basis = true,
		.needs_recipe = al_measures[which].needs_recipe,
		.evaluate = al_column_measure,
		.name = al_measures[which].key,
		.measure = which};
}

/* A metric's bare name, as formulas use it, or a symbol. */
static struct al_column_kind kind_of_name(const struct al_scenario *s, const char *name)
{
	struct al_column_kind kind = {.column = {.key = name, .digits = AL_DIGITS_ALL},
		.evaluate = al_column_symbol,
		.name = name};

	if (al_metric_find(s, name, &kind.set, &kind.metric))
		kind.evaluate = al_column_score;
	return kind;
}

struct al_column_kind al_column_kind_of(const struct al_scenario *s, const char *key)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct al_column_kind kind = kinds[i];
		const size_t n = strlen(kind.column.key);
		const bool is_of_metric = names_metric(kind.column.key);
		if (strncmp(key, kind.column.key, is_of_metric ? n : n + 1) != 0)
			continue;
		kind.name = is_of_metric ? key + n : key;
		if (is_of_metric)
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
	return kind->name != kind->column.key && names_metric(kind->column.key) ? kind->name : NULL;
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
		if (!names_metric(kinds[i].column.key))
			al_names_add(names, kinds[i].column.key);
	al_names_add_of(s, AL_NAMES_SYMBOLS, names);
}
