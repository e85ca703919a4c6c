/* The tables that a scenario wants: rows, columns, and what they are compared with. */
#ifndef ATTNLEDGER_SCENARIO_TABLES_H
#define ATTNLEDGER_SCENARIO_TABLES_H

#include "base/table.h"
#include "scenario/conditions.h"
#include "scenario/data.h"

struct column_kind;

/* A row of a table: a case under a variant. */
struct row {
	const struct case_ *case_;
	const struct variant *variant; /* NULL in a table of cases */
};

struct table_column {
	struct al_column column;
	const struct column_kind *kind; /* what the key says; or */
	const struct al_formula *formula; /* a formula over other cells */
	enum direction best;
	bool is_once; /* in a pivoted table: not once a variant */
	const struct variant **only; /* in a pivoted table: these variants; NULL: all */
	size_t n_only;
};

enum rows_kind { ROWS_VARIANTS, ROWS_CASES, ROWS_PRODUCT };

struct table {
	const char *id, *title;
	enum rows_kind kind;
	bool shows_case, shows_variant;
	bool is_pivoted, marks_best;
	const struct variant **best_among; /* only these compete; NULL: all */
	size_t n_best_among;
	struct row *rows;
	size_t n_rows;
	const struct variant **pivoted; /* a pivoted table's groups of columns */
	size_t n_pivoted;
	struct changes changes;
	const struct variant *baseline, *retention, *elasticity, *against; /* or NULL */
	const char *order; /* a symbol, or NULL */
	struct al_substitution *substitutions;
	size_t n_substitutions;
	struct table_column *columns;
	size_t n_columns;
};

/* The variants that a column of a pivoted table shows; a column that stands once shows its
 * first. */
const struct variant *const *al_column_pivot(const struct table *table,
	const struct table_column *column, size_t *n);

#endif
