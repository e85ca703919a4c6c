/* What a scenario is inside. Everything lives in its arena. */
#ifndef ATTNLEDGER_SCENARIO_INTERNAL_H
#define ATTNLEDGER_SCENARIO_INTERNAL_H

#include "base/number.h"
#include "base/json.h"
#include "base/names.h"
#include "scenario/conditions.h"
#include "scenario/scenario.h"
#include "scenario/sweep.h"

/* What a file may ask for, told in FORMAT.md. */
enum {
	MOST_PARTS_OF_A_KIND = 1000, /* tables, sweeps, figures, data sets; columns of a table */
	MOST_NAMES = 10000, /* cases; variants, with those that only data know */
	MOST_CELLS = 1000000, /* of all tables */
	MOST_BLOCKS = 20000, /* (case, variant) pairs of all tables whose ledger is kept */
	MOST_LOOK_UPS = 1 << 24, /* cells looked up for one table, or for a check */
};

/* ---- data ---- */

/* A printed number: the interval of half a unit of its last digit around it. */
struct datum {
	const char *printed; /* NULL: missing */
	mpq_srcptr value, low, high; /* all equal in an exact set */
	mpq_srcptr spread; /* or NULL */
};

enum direction { PLAIN, HIGHER_IS_BETTER, LOWER_IS_BETTER };

struct data_column {
	const char *name;
	enum direction direction;
};

struct data_row {
	const char *kase, *variant; /* NULL where the set has no such column */
	const struct datum *cells; /* [n_columns] of the set */
};

struct data_set {
	const char *id, *title;
	bool is_exact, has_case, has_variant;
	struct data_column *columns; /* without case and variant */
	size_t n_columns;
	struct data_row *rows;
	size_t n_rows;
};

/* ---- cases and rows ---- */

struct variant {
	struct al_variant_use use; /* use.variant is NULL where only data know it */
};

struct row {
	const struct kase *kase;
	const struct variant *variant; /* NULL in a table of cases */
};

/* ---- tables ---- */

struct table_column {
	struct al_column column;
	const struct al_formula *formula; /* NULL: the key says what it is */
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
	struct memo *memos; /* measures that were computed before */
};

/* ---- sweeps, figures, claims ---- */

struct sweep {
	struct al_sweep sweep;
	const struct kase **cases; /* each in turn */
	size_t n_cases;
	bool shows_case; /* named by a column */
	struct changes changes;
};

struct figure {
	struct al_figure figure;
	const struct table *table; /* one of the two */
	const struct sweep *sweep;
	const char **variants, **cases; /* only these rows; NULL: all */
	size_t n_variants, n_cases;
	const char **melted; /* columns that become rows, the column being the series */
	size_t n_melted;
};

enum relation { RELATION_EQUAL, RELATION_LESS, RELATION_GREATER, RELATION_IN };
enum rounding {
	ROUNDING_HALF,
	ROUNDING_TRUNCATED,
	ROUNDING_ABOUT,
	ROUNDING_MORE_THAN,
	ROUNDING_LESS_THAN,
	ROUNDING_RANGE,
};

struct named_path {
	const char *name, *path;
};

struct claim {
	const char *id, *where, *printed, *unit; /* where and unit may be NULL */
	const struct cJSON *node;
	const char *path; /* a value without `with` */
	const struct al_formula *formula; /* a value with `with` */
	struct named_path *with;
	size_t n_with;
	enum relation relation;
	enum rounding rounding;
	bool is_approximate;
	struct al_substitution *symbols; /* a printed polynomial's letters */
	size_t n_symbols;
	const char *underivable;
	const char *erratum; /* the reason, or NULL */
};

struct al_scenario {
	struct al_arena arena;
	struct al_json doc;
	struct al_catalog *catalog;
	const char *name, *file, *folder, *title;
	const struct al_symbol *symbols; /* the standard ones */
	size_t n_symbols;
	struct kase base; /* what all cases begin with */
	struct changes changes; /* in every case's model too */
	struct variant **variants;
	size_t n_variants, variants_room;
	struct variant **data_variants; /* known from data alone */
	size_t n_data_variants, data_variants_room;
	struct kase *cases;
	size_t n_cases;
	struct data_set *data;
	size_t n_data;
	struct table *tables;
	size_t n_tables;
	struct sweep *sweeps;
	size_t n_sweeps;
	struct figure *figures;
	size_t n_figures;
	struct claim *claims;
	size_t n_claims;
	size_t n_cells, n_blocks; /* counted against their bounds */
	int64_t n_points;
	size_t n_look_ups; /* since the table or the check began */
};

/* ---- finding things by name; each error names the nearest, NULL err only asks ---- */

const struct kase *find_case(const struct al_scenario *s, const char *id, struct al_error *err);
/* Also a variant that only data know. */
const struct variant *find_variant(const struct al_scenario *s, const char *name,
	struct al_error *err);
const struct table *find_table(const struct al_scenario *s, const char *id);
const struct sweep *find_sweep(const struct al_scenario *s, const char *id);
const struct data_set *find_data(const struct al_scenario *s, const char *id);
/* The set and column of a metric. */
bool find_metric(const struct al_scenario *s, const char *name, const struct data_set **set,
	size_t *column);
/* The datum of a row; NULL where the set has no such row. */
const struct datum *find_datum(const struct data_set *set, const char *kase, const char *variant,
	size_t column);

/* For messages: the known symbols, what a figure may draw, the keys that need no formula. */
void add_symbol_names(const struct al_scenario *s, struct al_names *names);
void add_drawable_ids(const struct al_scenario *s, struct al_names *names);
void add_column_keys(const struct al_scenario *s, struct al_names *names);

/* ---- parsing, one file a part ---- */

/* A "note" may stand among the names of any object. */
bool is_note(const struct cJSON *member);

/* A member that is one of `n` words: its index. `*out` stays where the member is absent. */
bool read_word(const struct al_scenario *s, const struct cJSON *owner, const char *key,
	const char *const *words, size_t n, int *out, struct al_error *err);
/* The owner's "set", "basis", "per" and "recipe"; the origin is said with a symbol's value. */
bool read_changes(struct al_scenario *s, const struct cJSON *owner, const char *origin,
	struct changes *changes, struct al_error *err);
/* Is it a standard symbol or a variant's own? */
bool is_known_symbol(const struct al_scenario *s, const char *symbol);
/* Is the member's key such a symbol? */
bool check_symbol(const struct al_scenario *s, const struct cJSON *member, struct al_error *err);
/* An object of SYMBOL: FORMULA. */
bool read_substitutions(struct al_scenario *s, const struct cJSON *node,
	struct al_substitution **out, size_t *n, struct al_error *err);
bool read_id(const struct al_scenario *s, const struct cJSON *node, const char **id,
	struct al_error *err);
bool read_variants(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool read_columns(struct al_scenario *s, const struct cJSON *list, struct table *table,
	struct al_error *err);
/* "data:glue" has the prefix "data:", `*rest` is what follows. */
bool has_prefix(const char *key, const char *prefix, const char **rest);
bool read_data(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool read_tables(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool read_sweeps(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool read_figures(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool read_claims(struct al_scenario *s, const struct cJSON *claims, const struct cJSON *errata,
	struct al_error *err);

/* A list that may hold at most that many. */
bool check_size(const struct al_scenario *s, const struct cJSON *list, const char *what,
	size_t most, struct al_error *err);
/* A case or variant name: not empty, no '/', ',', '[' or ']'. */
bool check_name(const struct al_scenario *s, const struct cJSON *node, const char *what,
	const char *name, struct al_error *err);
/* Is the name a symbol that a variant of the scenario could need? */
bool check_symbol_name(const struct al_scenario *s, const struct cJSON *node, const char *symbol,
	struct al_error *err);

/* ---- evaluating cells ---- */

enum { MOST_DATA = 16 };

/* The data that a value uses, and where in their box it is evaluated. */
struct box {
	const struct datum *used[MOST_DATA];
	size_t n;
	bool is_corner; /* else the point values */
	unsigned corner; /* bit i: the high end of used[i] */
};

/* A number, a polynomial, an order in a symbol, or nothing. */
enum cell_kind { CELL_MISSING, CELL_NUMBER, CELL_POLYNOMIAL, CELL_ORDER };

struct cell {
	enum cell_kind kind;
	mpq_t number;
	const struct al_polynomial *polynomial; /* owned by the table's memo */
	int order; /* the degree in the table's order symbol */
	mpq_srcptr spread; /* a plain datum's; NULL */
};

void cell_init(struct cell *cell);
void cell_finish(struct cell *cell);

/* A cell of any table by its key, whether it is printed or not. */
bool cell_value(struct al_scenario *s, const struct table *table, struct row row, const char *key,
	struct box *box, struct cell *out, struct al_error *err) AL_MUST_CHECK;

/* A datum at the point or at the box's corner. */
bool datum_value(struct box *box, const struct datum *datum, struct cell *out,
	struct al_error *err) AL_MUST_CHECK;

/* The sweep as it runs for one case, under conditions that the caller finishes. */
bool sweep_under(struct al_scenario *s, const struct sweep *sweep, const struct kase *kase,
	struct conditions *conditions, struct al_sweep *out, struct al_error *err) AL_MUST_CHECK;

/* Counts look-ups against their bound: a formula of formulas can grow without end. */
bool spend(struct al_scenario *s, size_t look_ups, struct al_error *err) AL_MUST_CHECK;

/* Forgets what was computed. */
void memos_finish(struct table *table);

/* The value that a claim's path names. The column (its unit) is NULL where it is not printed. */
bool path_value(struct al_scenario *s, const char *path, struct box *box, struct cell *out,
	const struct al_column **column, struct al_error *err) AL_MUST_CHECK;

/* What one of what people read is worth: M is 10^6, KiB 1024; 1 for any other text. */
int64_t unit_factor(const char *unit);

#endif
