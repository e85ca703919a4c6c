/* Columns: the one list of what a key can ask of a row. A newcomer's column is a row of this list
 * and a function that computes it. */
#ifndef ATTNLEDGER_SCENARIO_COLUMN_H
#define ATTNLEDGER_SCENARIO_COLUMN_H

#include "scenario/cell.h"

struct column_kind;

/* The value at a place; errors don't say which column they are about. */
typedef bool column_function(const struct column_kind *kind, const struct place *place,
	struct cell *out, struct al_error *err);

struct column_kind {
	const char *key; /* all of it, or its beginning up to ':', after which a metric is named */
	const char *title, *unit; /* what people read; NULL: the key, and "" */
	enum al_quantity quantity;
	int digits;
	enum direction best; /* which cell is the best; PLAIN: as the data say */
	bool needs_basis, needs_recipe; /* conventions that the number depends on */
	column_function *evaluate;
	const char *name; /* the metric after the ':', otherwise the key as it was asked for */
	enum al_measure measure; /* of a ledger's measure */
};

/* The kind of any key; what is neither in the list nor a measure nor a metric can only be a
 * symbol's name. The key must outlive the kind. */
struct column_kind al_column_kind_of(const struct al_scenario *s, const char *key);

/* The metric that the key names after ':', or NULL. */
const char *al_column_metric(const struct column_kind *kind);

/* Can it stand in a table without a formula? A metric's bare name can't. */
bool al_column_is_known(const struct al_scenario *s, const struct column_kind *kind);

/* All keys that need no formula, for messages. */
void al_column_add_keys(const struct al_scenario *s, struct al_names *names);

/* ---- what the list's rows compute, one file a subject ---- */

/* measures.c: what the row's ledger says */
column_function al_column_measure, al_column_saving, al_column_modules, al_column_symbol;
bool al_place_measure(const struct place *place, struct row row, enum al_measure which,
	struct cell *out, struct al_error *err) AL_MUST_CHECK;

/* metrics.c: measured scores, retention and elasticity */
column_function al_column_score, al_column_retention, al_column_elasticity;

/* theory.c: parameters as a polynomial */
column_function al_column_formula, al_column_difference, al_column_order;

/* The row of another variant in the same case. */
struct row al_place_row_of_variant(const struct place *place, const struct variant *variant);

/* Fails where the table doesn't name the variant that a column compares with. */
bool al_place_need_reference(const struct place *place, const struct variant *reference,
	const char *key, const char *column, struct al_error *err) AL_MUST_CHECK;

#endif
