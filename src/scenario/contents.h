/* The contents of a scenario: all that its file can state, checked, and nothing that was computed.
 * Everything lives in its arena. */
#pragma once

#include "base/json.h"
#include "formula/polynomial.h"
#include "report/venue/profile.h"
#include "base/table.h"
#include "scenario/scenario.h"
#include "scenario/sweep.h"

struct al_column_kind;

/* ---- conditions: a case gives them, what asks of it may change them ---- */

/* What a case, a table or a sweep changes in what it begins with: checked, so that it can
 * be applied to any case. */
struct al_changes {
	struct al_change_of_symbol {
		const char *symbol;
		int64_t value;
	} * symbols;
	size_t n_symbols;
	struct al_change_of_basis {
		const char *key, *value; /* as al_basis_set takes them */
	} * bases, per; /* per: overrides that of the basis; key NULL: not given */
	size_t n_bases;
	const struct al_recipe *recipe; /* NULL: as before */
};

/* A case: a model, or settings alone. */
struct al_case {
	const char *id, *title; /* "" where the scenario has no cases */
	const struct al_model *model; /* or NULL */
	struct al_changes changes;
	struct al_request request;
};

/* `origin` is who asks: it is reported with a symbol's value. */
bool al_request_change(struct al_request *request, const struct al_changes *changes,
	const char *origin, struct al_error *err) AL_MUST_CHECK;

/* The case's request, changed; the caller finishes it either way. Whatever a scenario asks of the
 * ledger, it asks through such a request. */
bool al_case_ask(struct al_request *request, const struct al_case *case_,
	const struct al_changes *changes, const char *origin, struct al_error *err) AL_MUST_CHECK;

/* "case" or "cases" of a table or a sweep. */
struct al_chosen_cases {
	const struct al_case **items, *one; /* one: named without a list; or NULL */
	size_t n;
};

/* A row: a case under a variant. */
struct al_scenario_row {
	const struct al_case *case_;
	const struct al_configured_variant *variant; /* NULL in a table of cases; its `variant` is
							NULL where only data know it */
};

/* ---- measured numbers ---- */

/* Where rows come from, as an object names them; NULL: absent. */
struct al_rows_source {
	const struct al_item *columns, *rows, *file;
};

/* A printed number: the interval of half a unit of its last digit around it. */
struct al_datum {
	const char *printed; /* NULL: missing */
	mpq_srcptr value, low, high; /* all equal in an exact set */
	mpq_srcptr spread; /* or NULL */
	int digits, spread_digits; /* decimals as printed */
	bool is_date; /* the value is a year */
};

enum al_direction { AL_PLAIN, AL_HIGHER_IS_BETTER, AL_LOWER_IS_BETTER };

struct al_data_column {
	const char *name;
	enum al_direction direction;
};

struct al_data_row {
	struct al_scenario_row row; /* NULL where the set has no such column */
	const struct al_datum *cells; /* [n_columns] of the set */
};

struct al_data_set {
	const char *id, *title, *source;
	struct al_rows_source from;
	const struct al_item *metrics; /* which values are the better ones; NULL: not given */
	bool is_exact, has_case, has_variant;
	int64_t runs; /* that a number is the mean of; 0: unknown */
	struct al_data_column *columns; /* without case and variant */
	size_t n_columns;
	struct al_data_row *rows;
	size_t n_rows;
};

/* The datum of a row; NULL where the set has no such row. */
const struct al_datum *al_datum_find(const struct al_data_set *set, struct al_scenario_row row,
	size_t column);

/* ---- tables ---- */

/* A built table as it is printed: its rows sorted, and turned so that one of its keys heads groups
 * of columns. */
struct al_arrangement {
	const char *pivot_by; /* a column whose values become groups of columns; or NULL */
	const char **keys; /* columns that then name the rows; none: all other keys */
	size_t n_keys;
	const char *sort_by; /* a column, or NULL */
	bool sort_descends;
};

struct al_scenario_column {
	struct al_column column;
	const struct al_column_kind *kind; /* the key's content; or */
	const struct al_formula *formula; /* a formula over other cells */
	enum al_direction best;
	bool is_once; /* in a pivoted table: not once a variant */
	const struct al_configured_variant *
		*only; /* in a pivoted table: these variants; NULL: all */
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
	const struct al_configured_variant **best_among; /* only these compete; NULL: all */
	size_t n_best_among;
	struct al_chosen_cases cases;
	const struct al_configured_variant **variants; /* a pivoted table's groups of columns */
	size_t n_variants;
	const struct al_data_set *of_data; /* whose rows these are; NULL: of cases and variants */
	struct al_scenario_row *rows;
	size_t n_rows;
	struct al_changes changes;
	const struct al_configured_variant *baseline, *retention, *elasticity, *against,
		*significance; /* or NULL */
	const char *order; /* a symbol, or NULL */
	struct al_substitution *substitutions;
	size_t n_substitutions;
	struct al_scenario_column *columns;
	size_t n_columns;
	/* From left to right, without what names the rows: in a pivoted table a column once a
	 * variant. */
	struct al_shown_column {
		const struct al_scenario_column *column;
		const struct al_configured_variant *variant; /* NULL: the row's */
	} * shown;
	size_t n_shown, shown_room;
};

/* ---- sweeps: a curve for each of some cases ---- */

struct al_scenario_sweep {
	struct al_ledger_sweep sweep; /* without its request: that is the case's */
	struct al_chosen_cases cases; /* one curve after the other */
	bool shows_case; /* named by a column */
	struct al_arrangement arrangement; /* of the table that is printed, not of figures */
	struct al_changes changes;
};

/* The sweep as it runs for one case, and its request, which the caller finishes either way. */
bool al_sweep_of_case(const struct al_scenario_sweep *sweep, const struct al_case *case_,
	struct al_request *request, struct al_ledger_sweep *out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- listings: rows used unchanged ---- */

struct al_scenario_listing {
	const char *id, *title, *source;
	struct al_rows_source from;
	struct al_column *columns;
	size_t n_columns;
	const char ***rows; /* [n_rows][n_columns], NULL: missing */
	size_t n_rows;
};

/* ---- figures ---- */

struct al_scenario_figure {
	struct al_figure figure;
	const struct al_item *node; /* in the file */
	const struct al_scenario_table *table; /* one of the three */
	const struct al_scenario_sweep *sweep;
	const struct al_scenario_listing *listing;
	int64_t panel_columns; /* in rows of so many; 0: all side by side */
	const char **variants, **cases; /* only these rows; NULL: all */
	size_t n_variants, n_cases;
	const char **melted; /* columns that become rows, the column being the series */
	size_t n_melted;
	const struct al_scenario_listing *beneath; /* has figure.beneath; NULL: none */
	const char *beneath_by; /* a column of both, by which rows go together; NULL: the panel's */
};

/* A variant's or a case's color: its place in the palette. */
struct al_scenario_color {
	const char *name;
	size_t place;
};

/* ---- claims: numbers that a paper prints ---- */

enum al_relation { AL_RELATION_EQUAL, AL_RELATION_LESS, AL_RELATION_GREATER, AL_RELATION_IN };
enum al_rounding {
	AL_ROUNDING_HALF,
	AL_ROUNDING_TRUNCATED,
	AL_ROUNDING_ABOUT,
	AL_ROUNDING_MORE_THAN,
	AL_ROUNDING_LESS_THAN,
	AL_ROUNDING_RANGE,
};

struct al_named_path {
	const char *name, *path;
};

struct al_scenario_claim {
	const char *id, *where, *printed, *unit; /* where and unit may be NULL */
	const struct al_item *node; /* its place, for messages */
	enum al_claim_kind kind;
	const char *of; /* of a reading: the id of the claim whose number it reads */
	struct al_scenario_claim *first; /* that claim; of all others itself */
	const char *path; /* a value without `with` */
	const struct al_formula *formula; /* a value with `with` */
	struct al_named_path *with;
	size_t n_with;
	enum al_relation relation;
	enum al_rounding rounding;
	bool is_approximate;
	mpq_srcptr within; /* share of a measurement that a value may be away; NULL: none */
	struct al_substitution *symbols; /* a printed polynomial's letters */
	size_t n_symbols;
	const char *underivable;
	const char *erratum; /* the reason, or NULL */
};

/* ---- questions: answers of other commands, by engine, device and version ---- */

/* A command line, asked for a printed number in place of its "{}". */
struct al_scenario_question {
	const char *id;
	const char *ask;
	const char *given; /* NULL: there is no "{}" */
	mpq_srcptr value; /* of what is given */
	int digits; /* its decimals */
};

/* ---- the file ---- */

struct al_scenario {
	struct al_arena arena;
	struct al_json doc;
	struct al_catalog *catalog;
	const char *name, *file, *folder, *title, *source;
	const struct al_item *set; /* read when variants are, whose symbols it may name */
	const struct al_profile *profile; /* NULL: none is named */
	const struct al_symbol *symbols; /* the standard ones */
	size_t n_symbols;
	bool takes_unset; /* what a claim needs may not be set: then it can't be derived */
	struct al_case base; /* what all cases begin with; what it changes holds in every model */
	const struct al_configured_variant **variants; /* [n_known], the others from data alone */
	size_t n_variants, n_known, known_room;
	struct al_case *cases;
	size_t n_cases;
	struct al_data_set *data;
	size_t n_data;
	struct al_scenario_color *colors;
	size_t n_colors;
	struct al_scenario_table *tables;
	size_t n_tables;
	struct al_scenario_sweep *sweeps;
	size_t n_sweeps;
	struct al_scenario_listing *listings;
	size_t n_listings;
	struct al_scenario_figure *figures;
	size_t n_figures;
	struct al_scenario_question *questions;
	size_t n_questions;
	al_scenario_asker *ask; /* NULL: there is none */
	struct al_scenario_claim *claims;
	size_t n_claims;
	size_t n_cells; /* counted against their bounds while the file is read */
	int64_t n_points;
	struct al_evaluator *evaluator; /* what was computed of all this */
};

/* ---- finding things by name; each error names the nearest, NULL err only asks ---- */

const struct al_case *al_case_find(const struct al_scenario *s, const char *id,
	struct al_error *err);
/* Also a variant that only data know. */
const struct al_configured_variant *al_variant_find(const struct al_scenario *s, const char *name,
	struct al_error *err);
/* A variant that not only data know. */
bool al_variant_find_counted(const struct al_scenario *s, const char *name,
	const struct al_configured_variant **out, struct al_error *err);
/* Finds any other struct whose first member is its name. */
#define AL_PART(s, parts, id) AL_FIND((s)->parts, (s)->n_##parts, (id))
/* The set and column of a metric. */
bool al_metric_find(const struct al_scenario *s, const char *name, const struct al_data_set **set,
	size_t *column);
/* Is it a standard symbol or a variant's own? */
bool al_symbol_is_known(const struct al_scenario *s, const char *symbol);

/* Known names, for messages. */
enum {
	AL_NAMES_VARIANTS = 1,
	AL_NAMES_DRAWABLE = 4, /* tables, sweeps and listings */
	AL_NAMES_DATA = 8,
	AL_NAMES_METRICS = 16,
	AL_NAMES_SYMBOLS = 32,
	AL_NAMES_QUESTIONS = 64,
};
void al_names_add_of(const struct al_scenario *s, unsigned which, struct al_names *names);

/* Fails with "unknown WHAT "NAME" (did you mean ...". */
bool al_unknown_fail(const struct al_scenario *s, unsigned which, const char *what,
	const char *name, struct al_error *err);
