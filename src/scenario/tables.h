/* The tables that a scenario wants: rows, columns, and what they are compared with. */
#ifndef ATTNLEDGER_SCENARIO_TABLES_H
#define ATTNLEDGER_SCENARIO_TABLES_H

#include "base/table.h"
#include "scenario/arrange.h"
#include "scenario/conditions.h"
#include "scenario/data.h"

struct al_column_kind;

/* A row of a table: a case under a variant. */
struct al_scenario_row {
	const struct al_case *case_;
	const struct al_scenario_variant *variant; /* NULL in a table of cases */
};

struct al_scenario_column {
	struct al_column column;
	const struct al_column_kind *kind; /* what the key says; or */
	const struct al_formula *formula; /* a formula over other cells */
	enum al_direction best;
	bool is_once; /* in a pivoted table: not once a variant */
	const struct al_scenario_variant **only; /* in a pivoted table: these variants; NULL: all */
	size_t n_only;
};

enum al_rows_kind {
	AL_ROWS_OF_WHAT_VARIES, /* until the table is read */
	AL_ROWS_VARIANTS,
	AL_ROWS_CASES,
	AL_ROWS_PRODUCT,
};

struct al_scenario_table {
	const char *id, *title;
	enum al_rows_kind kind;
	bool shows_case, shows_variant;
	bool is_pivoted; /* by variants: each column becomes a group of them */
	struct al_arrangement arrangement;
	struct al_placing placing;
	bool shows_notes;
	bool marks_best, marks_second;
	enum al_spread_form spread_form;
	const struct al_scenario_variant **best_among; /* only these compete; NULL: all */
	size_t n_best_among;
	const struct al_case **cases, *one_case; /* one_case: named without a list; or NULL */
	const struct al_scenario_variant **variants; /* a pivoted table's groups of columns */
	size_t n_cases, n_variants;
	const struct al_data_set *of_data; /* whose rows these are; NULL: of cases and variants */
	struct al_scenario_row *rows;
	size_t n_rows;
	struct al_changes changes;
	const struct al_scenario_variant *baseline, *retention, *elasticity, *against,
		*significance; /* or NULL */
	const char *order; /* a symbol, or NULL */
	struct al_substitution *substitutions;
	size_t n_substitutions;
	struct al_scenario_column *columns;
	size_t n_columns;
};

/* The variants that a column of a pivoted table shows; a column that stands once shows its
 * first. */
const struct al_scenario_variant *const *al_column_pivot(const struct al_scenario_table *table,
	const struct al_scenario_column *column, size_t *n);

#endif
