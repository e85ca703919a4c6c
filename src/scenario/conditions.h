/* Conditions: what the numbers of a row hold under. A case gives them, and what asks of the case (a
 * table, a sweep) may change them. */
#ifndef ATTNLEDGER_SCENARIO_CONDITIONS_H
#define ATTNLEDGER_SCENARIO_CONDITIONS_H

#include "ledger/request/request.h"

struct al_scenario_variant {
	struct al_configured_variant configured; /* its `variant` is NULL where only data know it */
};

/* What a case, a table or a sweep says otherwise than what it begins with: checked, so that it can
 * be applied to any case. */
struct al_changes {
	struct al_change_of_symbol {
		const char *symbol;
		int64_t value;
	} * symbols;
	size_t n_symbols;
	struct al_change_of_basis {
		const char *key, *value; /* as al_basis_set takes them */
	} * bases;
	size_t n_bases, bases_room;
	const struct al_recipe *recipe; /* NULL: as before */
};

/* A case: a model, or settings alone. */
struct al_case {
	const char *id, *title; /* "" where the scenario has no cases */
	const struct al_model *model; /* or NULL */
	struct al_changes changes;
	struct al_request request;
};

/* `origin` is who asks: it is said with a symbol's value. */
bool al_request_change(struct al_request *request, const struct al_changes *changes,
	const char *origin, struct al_error *err) AL_MUST_CHECK;

/* The case's request, changed; the caller finishes it. Whatever a scenario asks of the ledger, it
 * asks through such a request. */
bool al_case_ask(struct al_request *request, const struct al_case *case_,
	const struct al_changes *changes, const char *origin, struct al_error *err) AL_MUST_CHECK;

#endif
