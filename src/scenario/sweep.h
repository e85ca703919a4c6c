/* Sweeps: ledger columns over the product of some symbols' values. */
#pragma once

#include "base/table.h"
#include "base/watch.h"
#include "ledger/request/request.h"

enum {
	AL_SWEEP_MOST_AXES = 4,
	AL_SWEEP_MOST_POINTS = 1000000,
	AL_SWEEP_MOST_ENTRIES = 1 << 24, /* of ledgers, evaluated at all points */
	AL_SWEEP_MOST_HANDED_ON = 1 << 28, /* the same where rows aren't kept */
	AL_SWEEP_MOST_MEASURES = AL_N_MEASURES
};

/* The values of one symbol: from, from + step, ... up to `to`; or a list. */
struct al_sweep_axis {
	const char *symbol;
	int64_t from, to, step;
	const int64_t *list; /* instead of the range, or NULL */
	size_t n_list;
};

struct al_ledger_sweep {
	const char *id, *title;
	struct al_sweep_axis *axes; /* at most AL_SWEEP_MOST_AXES */
	size_t n_axes;
	struct al_substitution *ties; /* symbols that follow the others */
	size_t n_ties;
	enum al_measure measures[AL_SWEEP_MOST_MEASURES];
	size_t n_measures;
	const struct al_configured_variant *const *variants;
	size_t n_variants;
	const struct al_request *request; /* its recipe may be NULL where no measure needs one */
	size_t *n_evaluated; /* entries, of all sweeps that share a bound; NULL: this one alone */
	/* Takes rows as they come, some at a time, in a table with all columns; NULL: they are kept
	 * until the end. */
	void (*take_rows)(void *context, const struct al_table *rows);
	void *context;
	/* Called before each point, the one after `done` of `n`; or NULL. */
	const struct al_watch *watch;
};

/* The column of a measure in a table. */
struct al_column al_measure_column(enum al_measure measure);

/* Adds a measure by its key. */
bool al_sweep_add_measure(struct al_ledger_sweep *sweep, const char *key,
	struct al_error *err) AL_MUST_CHECK;

/* Parses "FROM:TO[:STEP]" or "A,B,C" into an axis. */
bool al_sweep_axis_parse(struct al_arena *arena, const char *symbol, const char *text,
	struct al_sweep_axis *out, struct al_error *err) AL_MUST_CHECK;

/* The number of points; an error where there are more than AL_SWEEP_MOST_POINTS, or where a symbol
 * is swept twice or swept and tied. */
bool al_sweep_points(const struct al_ledger_sweep *sweep, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* A column a symbol, `variant`, a column a measure; rows run variant by variant, the last axis
 * fastest. `out` is the caller's to finish; with take_rows it has no rows left. */
bool al_sweep_run(const struct al_ledger_sweep *sweep, struct al_table *out,
	struct al_error *err) AL_MUST_CHECK;
