/* Columns: the one list of what a key can ask of a row. A newcomer's column is a row of this list
 * and a function that computes it. */
#pragma once

#include "scenario/cell.h"

struct al_column_kind;

/* The value at a place; errors don't name their column. */
typedef bool al_column_function(const struct al_column_kind *kind,
	const struct al_cell_place *place, struct al_scenario_cell *out, struct al_error *err);

struct al_column_kind {
	/* As a table shows it. Its key is all of what is asked for, or the beginning up to ':',
	 * after which a metric is named. */
	struct al_column column;
	enum al_direction best; /* which cell is the best; AL_PLAIN: as the data declare */
	bool needs_basis, needs_recipe; /* conventions that the number depends on */
	al_column_function *evaluate;
	const char *name; /* the metric after the ':', otherwise the key as it was asked for */
	const struct al_data_set *set; /* that contains the metric, and its column; or NULL */
	size_t metric;
	enum al_measure measure; /* of a ledger's measure */
};

/* The kind of any key; what is neither in the list nor a measure nor a metric can only be a
 * symbol's name. The key must outlive the kind. */
struct al_column_kind al_column_kind_of(const struct al_scenario *s, const char *key);

/* The same, found once for each key that is evaluated. */
const struct al_column_kind *al_evaluator_kind(struct al_evaluator *evaluator, const char *key);

/* The metric that the key names after ':', or NULL. */
const char *al_column_metric(const struct al_column_kind *kind);

/* Can it be in a table without a formula? A metric's bare name can't. */
bool al_column_is_known(const struct al_scenario *s, const struct al_column_kind *kind);

/* All keys that need no formula, for messages. */
void al_column_add_keys(const struct al_scenario *s, struct al_names *names);

/* ---- what the list's rows compute (measures.c) ---- */

al_column_function al_column_measure, al_column_saving, al_column_modules, al_column_symbol;
al_column_function al_column_score, al_column_retention, al_column_elasticity;
al_column_function al_column_formula, al_column_cache_formula, al_column_difference,
	al_column_order;
