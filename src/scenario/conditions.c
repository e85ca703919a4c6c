/* Conditions: a case's settings, basis and recipe, with what a table or a sweep changes in them. */
#include "scenario/conditions.h"

void al_settings_change(struct al_settings *settings, const struct al_changes *changes)
{
	for (size_t i = 0; i < changes->n_symbols; i++)
		al_settings_ask(settings, changes->symbols[i].symbol, changes->symbols[i].value,
			changes->origin);
}

bool al_basis_change(struct al_basis *basis, const struct al_changes *changes, struct al_error *err)
{
	for (size_t i = 0; i < changes->n_bases; i++)
		if (!al_basis_set(basis, changes->bases[i].key, changes->bases[i].value, err))
			return false;
	return true;
}

bool al_conditions_init(struct al_conditions *conditions, struct al_catalog *catalog,
	const struct al_case *case_, const struct al_changes *changes, struct al_error *err)
{
	conditions->catalog = catalog;
	conditions->model = case_->model;
	conditions->basis = case_->basis;
	conditions->recipe = changes->recipe ? changes->recipe : case_->recipe;
	if (!al_basis_change(&conditions->basis, changes, err))
		return false;
	al_settings_init(&conditions->settings, catalog);
	al_settings_merge(&conditions->settings, &case_->settings);
	al_settings_change(&conditions->settings, changes);
	return true;
}

struct al_ledger_ask al_conditions_ask(const struct al_conditions *conditions,
	const struct al_configured_variant *configured)
{
	return (struct al_ledger_ask){.catalog = conditions->catalog,
		.model = conditions->model,
		.settings = &conditions->settings,
		.basis = &conditions->basis,
		.configured = configured};
}

void al_conditions_finish(struct al_conditions *conditions)
{
	al_settings_finish(&conditions->settings);
}
