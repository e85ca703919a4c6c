/* Tables of formulas, a row a variant: what its tensors add up to, and what it caches, as
 * polynomials. */
#pragma once

#include "answer/session.h"
#include "ledger/ledger.h"

/* What is asked of every variant. */
struct al_formulas {
	struct al_session *session;
	const struct al_settings *settings;
	const struct al_basis *basis;
	struct al_substitution *substitutions; /* symbols that formulas take the place of */
	size_t n_substitutions;
	const char *order; /* the symbol of the column of orders of growth; NULL: there is none */
	bool is_survey; /* a variant without an order ends nothing */
	struct al_configured_variant against; /* what the column of differences is against */
	struct al_polynomial *reference; /* its parameters; NULL: there is no such column */
};

void al_formulas_begin(const struct al_formulas *formulas, struct al_table *table);

/* A row; a note if the variant doesn't declare its cache. */
bool al_formulas_add(const struct al_formulas *formulas, struct al_table *table,
	const struct al_configured_variant *configured, struct al_error *err) AL_MUST_CHECK;

/* The sum of a variant's tensors. */
bool al_formulas_sum(const struct al_formulas *formulas,
	const struct al_configured_variant *configured, struct al_polynomial **out,
	struct al_error *err) AL_MUST_CHECK;
