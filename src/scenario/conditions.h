/* Conditions: what the numbers of a row hold under. A case gives them, and what asks of the case (a
 * table, a sweep) may change them. Whatever a scenario asks of the ledger, it asks under these. */
#ifndef ATTNLEDGER_SCENARIO_CONDITIONS_H
#define ATTNLEDGER_SCENARIO_CONDITIONS_H

#include "ledger/ledger.h"

/* A case: a model, or settings alone. */
struct al_case {
	const char *id, *title; /* "" where the scenario has no cases */
	const struct al_model *model; /* or NULL */
	struct al_settings settings;
	struct al_basis basis;
	const struct al_recipe *recipe; /* or NULL */
};

struct al_scenario_variant {
	struct al_configured_variant
		configured; /* configured.variant is NULL where only data know it */
};

/* What a table or a sweep asks otherwise than its case: checked, so that it can be applied to any
 * case. */
struct al_changes {
	const char *origin; /* who asks: said with a symbol's value */
	struct al_change_of_symbol {
		const char *symbol;
		int64_t value;
	} * symbols;
	size_t n_symbols;
	struct al_change_of_basis {
		const char *key, *value; /* as al_basis_set takes them */
	} * bases;
	size_t n_bases;
	const struct al_recipe *recipe; /* NULL: the case's */
};

struct al_conditions {
	struct al_catalog *catalog;
	const struct al_model *model; /* or NULL */
	struct al_settings settings;
	struct al_basis basis;
	const struct al_recipe *recipe; /* or NULL */
};

/* The case's, changed. What is made of the conditions must not outlive them. */
bool al_conditions_init(struct al_conditions *conditions, struct al_catalog *catalog,
	const struct al_case *case_, const struct al_changes *changes,
	struct al_error *err) AL_MUST_CHECK;
void al_conditions_finish(struct al_conditions *conditions);

/* What is asked of the ledger about a variant. */
struct al_ledger_ask al_conditions_ask(const struct al_conditions *conditions,
	const struct al_configured_variant *configured);

/* The symbols and the bases alone. */
void al_settings_change(struct al_settings *settings, const struct al_changes *changes);
bool al_basis_change(struct al_basis *basis, const struct al_changes *changes,
	struct al_error *err) AL_MUST_CHECK;

#endif
