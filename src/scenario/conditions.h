/* Conditions: what the numbers of a row hold under. A case gives them, and what asks of the case (a
 * table, a sweep) may change them. Whatever a scenario asks of the ledger, it asks under these. */
#ifndef ATTNLEDGER_SCENARIO_CONDITIONS_H
#define ATTNLEDGER_SCENARIO_CONDITIONS_H

#include "ledger/ledger.h"

/* A case: a model, or settings alone. */
struct case_ {
	const char *id, *title; /* "" where the scenario has no cases */
	const struct al_model *model; /* or NULL */
	struct al_settings settings;
	struct al_basis basis;
	const struct al_recipe *recipe; /* or NULL */
};

struct variant {
	struct al_configured_variant use; /* use.variant is NULL where only data know it */
};

/* What a table or a sweep asks otherwise than its case: checked, so that it can be applied to any
 * case. */
struct changes {
	const char *origin; /* who asks: said with a symbol's value */
	struct change_of_symbol {
		const char *symbol;
		int64_t value;
	} * symbols;
	size_t n_symbols;
	struct change_of_basis {
		const char *key, *value; /* as al_basis_set takes them */
	} * bases;
	size_t n_bases;
	const struct al_recipe *recipe; /* NULL: the case's */
};

struct conditions {
	struct al_catalog *catalog;
	const struct al_model *model; /* or NULL */
	struct al_settings settings;
	struct al_basis basis;
	const struct al_recipe *recipe; /* or NULL */
};

/* The case's, changed. What is made of the conditions must not outlive them. */
bool al_conditions_init(struct conditions *conditions, struct al_catalog *catalog,
	const struct case_ *case_, const struct changes *changes,
	struct al_error *err) AL_MUST_CHECK;
void al_conditions_finish(struct conditions *conditions);

/* What is asked of the ledger about a variant. */
struct al_ledger_ask al_conditions_ask(const struct conditions *conditions,
	const struct al_configured_variant *use);

/* The symbols and the bases alone. */
void al_settings_change(struct al_settings *settings, const struct changes *changes);
bool al_basis_change(struct al_basis *basis, const struct changes *changes,
	struct al_error *err) AL_MUST_CHECK;

#endif
