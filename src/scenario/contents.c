/* The contents of a scenario: finding its parts by name. */
#include "scenario/contents.h"

#include <string.h>

static const struct al_scenario_variant *variant_among(struct al_scenario_variant *const *variants,
	size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(variants[i]->configured.name, name) == 0)
			return variants[i];
	return NULL;
}

static bool fail_unknown_variant(const struct al_scenario *s, const char *name,
	struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < s->n_variants; i++)
		al_names_add(&names, s->variants[i]->configured.name);
	for (size_t i = 0; i < s->n_data_variants; i++)
		al_names_add(&names, s->data_variants[i]->configured.name);
	return al_names_fail(&names, "variant", name, err);
}

const struct al_scenario_variant *al_variant_find(const struct al_scenario *s, const char *name,
	struct al_error *err)
{
	const struct al_scenario_variant *found = variant_among(s->variants, s->n_variants, name);

	if (!found)
		found = variant_among(s->data_variants, s->n_data_variants, name);
	if (!found && err)
		fail_unknown_variant(s, name, err);
	return found;
}

static bool fail_unknown_case(const struct al_scenario *s, const char *id, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < s->n_cases; i++)
		al_names_add(&names, s->cases[i].id);
	return al_names_fail(&names, "case", id, err);
}

const struct al_case *al_case_find(const struct al_scenario *s, const char *id,
	struct al_error *err)
{
	for (size_t i = 0; i < s->n_cases; i++)
		if (strcmp(s->cases[i].id, id) == 0)
			return &s->cases[i];
	if (err)
		fail_unknown_case(s, id, err);
	return NULL;
}

const struct al_scenario_table *al_table_find(const struct al_scenario *s, const char *id)
{
	for (size_t i = 0; i < s->n_tables; i++)
		if (strcmp(s->tables[i].id, id) == 0)
			return &s->tables[i];
	return NULL;
}

const struct al_scenario_sweep *al_sweep_find(const struct al_scenario *s, const char *id)
{
	for (size_t i = 0; i < s->n_sweeps; i++)
		if (strcmp(s->sweeps[i].sweep.id, id) == 0)
			return &s->sweeps[i];
	return NULL;
}

const struct al_scenario_listing *al_listing_find(const struct al_scenario *s, const char *id)
{
	for (size_t i = 0; i < s->n_listings; i++)
		if (strcmp(s->listings[i].id, id) == 0)
			return &s->listings[i];
	return NULL;
}

const struct al_data_set *al_data_find(const struct al_scenario *s, const char *id)
{
	for (size_t i = 0; i < s->n_data; i++)
		if (strcmp(s->data[i].id, id) == 0)
			return &s->data[i];
	return NULL;
}

bool al_metric_find(const struct al_scenario *s, const char *name, const struct al_data_set **set,
	size_t *column)
{
	for (size_t i = 0; i < s->n_data; i++)
		for (size_t j = 0; j < s->data[i].n_columns; j++)
			if (strcmp(s->data[i].columns[j].name, name) == 0) {
				*set = &s->data[i];
				*column = j;
				return true;
			}
	return false;
}

bool al_symbol_is_known(const struct al_scenario *s, const char *symbol)
{
	for (size_t i = 0; i < s->n_symbols; i++)
		if (strcmp(s->symbols[i].name, symbol) == 0)
			return true;
	for (size_t i = 0; i < s->n_variants; i++) {
		const struct al_variant *variant = s->variants[i]->configured.variant;
		for (size_t j = 0; j < variant->n_symbols; j++)
			if (strcmp(variant->symbols[j].name, symbol) == 0)
				return true;
	}
	return false;
}

void al_symbol_add_names(const struct al_scenario *s, struct al_names *names)
{
	for (size_t i = 0; i < s->n_symbols; i++)
		al_names_add(names, s->symbols[i].name);
	for (size_t i = 0; i < s->n_variants; i++) {
		const struct al_variant *variant = s->variants[i]->configured.variant;
		for (size_t j = 0; j < variant->n_symbols; j++)
			al_names_add(names, variant->symbols[j].name);
	}
}

void al_drawable_add_ids(const struct al_scenario *s, struct al_names *names)
{
	for (size_t i = 0; i < s->n_tables; i++)
		al_names_add(names, s->tables[i].id);
	for (size_t i = 0; i < s->n_sweeps; i++)
		al_names_add(names, s->sweeps[i].sweep.id);
	for (size_t i = 0; i < s->n_listings; i++)
		al_names_add(names, s->listings[i].id);
}
