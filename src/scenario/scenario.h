/* Scenarios: models, variants and measured data in one JSON file, and the tables, sweeps, figures
 * and claims that are wanted of them. The format is described in scenarios/FORMAT.md.
 *
 * The files in their order; each uses only those above it:
 *
 *   contents      what a file can state, plain; a case is a request, which tables and sweeps may
 *                 change; finding its parts by name
 *   memo, cell    the evaluator, which only reads the contents; the value of one cell
 *   measures      what a column computes
 *   column        the one list of columns
 *   evaluate, question, path    any cell by its key, formulas over cells; answers of other
 *                 commands; what a claim's path names
 *   best, al_table_build, al_sweep_build, al_listing_build, al_figure_build    tables as they are
 *                 printed and drawn
 *   search, printed, check    what a claim is worth, and what it may be
 *   settings, csv, read_*    the file's text, read into contents
 *   scenario      opening, and what is asked from outside */
#pragma once

#include "attnledger.h"
#include "base/table.h"
#include "figure/spec.h"
#include "ledger/ledger.h"

struct al_scenario; /* contents.h */

/* The scenarios that the binary holds. */
extern const struct al_embedded_list al_embedded_scenarios;
/* CSV files that they name. */
extern const struct al_embedded_list al_embedded_listings;

/* Parses a scenario's text. `name` names its output folder, `file` is for messages, `folder` is
 * where the files that it names are looked for. The catalog must outlive it. */
bool al_scenario_parse(struct al_scenario **out, struct al_catalog *catalog, const char *name,
	const char *file, const char *folder, const char *text, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* A file (a path with '/' or ending in ".json"), or an embedded scenario by name. */
bool al_scenario_open(struct al_scenario **out, struct al_catalog *catalog, const char *name,
	struct al_error *err) AL_MUST_CHECK;

/* Is it a JSON Schema? `scenarios/...json` matches one, too. */
bool al_scenario_is_schema(const char *path);

void al_scenario_destroy(struct al_scenario *scenario);

/* ---- questions ---- */

/* An answer of another command: the values of its sentence, and its tables. */
struct al_scenario_answer {
	const struct al_answer_value *values;
	size_t n_values;
	const struct al_table *const *tables;
	size_t n_tables;
};

/* Answers a question of a scenario; the answer lives as long as the arena. */
typedef bool al_scenario_asker(struct al_arena *arena, const char *question,
	struct al_scenario_answer *out, struct al_error *err);

/* Without one, claims about answers fail. */
void al_scenario_set_asker(struct al_scenario *scenario, al_scenario_asker *ask);

/* Tables first, then sweeps and listings, in the file's order. `out` is the caller's to finish. */
size_t al_scenario_n_tables(const struct al_scenario *scenario);
bool al_scenario_table(struct al_scenario *scenario, size_t index, struct al_table *out,
	struct al_error *err) AL_MUST_CHECK;

/* A figure and the rows that it draws. `out` is the caller's to finish. */
/* Puts the figure's place in the file before a message. */
bool al_scenario_figure_in(const struct al_scenario *scenario, size_t index, struct al_error *err);
bool al_scenario_figure_table(struct al_scenario *scenario, size_t index, struct al_table *out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- claims ---- */

/* The relation of a claim to its source. */
enum al_claim_kind {
	AL_CLAIM_PRINTED, /* a number in the file */
	AL_CLAIM_READING, /* another reading of a number that a claim reads already */
	AL_CLAIM_DERIVED, /* printed nowhere: follows from what is */
	AL_CLAIM_IDENTITY, /* cannot be otherwise: what MHA retains of itself */
	AL_CLAIM_REPEAT, /* printed again */
	AL_CLAIM_STATEMENT, /* no number: a convention, a cross reference */
	AL_N_CLAIM_KINDS,
};
extern const char *const al_claim_kind_names[AL_N_CLAIM_KINDS];

enum al_verdict {
	AL_REPRODUCED,
	AL_CONSISTENT,
	AL_INCONSISTENT,
	AL_UNDERIVABLE,
	AL_N_VERDICTS,
};
extern const char *const al_verdict_names[AL_N_VERDICTS];

struct al_check_counts {
	size_t verdicts[AL_N_VERDICTS]; /* of all claims */
	size_t kinds[AL_N_CLAIM_KINDS]; /* of all claims */
	size_t numbers[AL_N_VERDICTS]; /* of numbers that are printed, each once: it holds if one of
					  its readings does */
	size_t tolerated; /* of these: not exact, but within the claim's tolerance */
	size_t cut_off; /* of these: digits cut off instead of rounded */
	size_t equalities; /* of these: numbers that are reproduced or consistent */
	size_t indifferent; /* of these: would hold too with the last digit one more */
	size_t errata; /* inconsistent and listed */
	size_t unlisted; /* inconsistent and not listed: the answer is no */
	size_t read_otherwise; /* inconsistent, but another reading of the number holds */
	size_t wrong_errata; /* listed, but not inconsistent: the answer is no */
};

/* Adds the columns of a check: scenario, id, where, printed, value, low, high, verdict, note. */
void al_check_table_init(struct al_table *table);

/* Checks each claim, a row each, and adds to the counts. */
bool al_scenario_check(struct al_scenario *scenario, struct al_table *table,
	struct al_check_counts *counts, struct al_error *err) AL_MUST_CHECK;
