/* Linting a paper: what of its numbers follows, what doesn't, and what could not be read. */
#ifndef ATTNLEDGER_PAPER_LINT_H
#define ATTNLEDGER_PAPER_LINT_H

#include "base/table.h"
#include "paper/bind.h"
#include "scenario/scenario.h"

struct al_lint_counts {
	size_t numbers; /* that were recomputed */
	size_t verdicts[4]; /* of these, by enum al_verdict */
	size_t in_prose; /* in running text: printed again as a table has them */
	size_t slips; /* in running text: contradicted */
	size_t scores; /* taken as they are */
	size_t gaps; /* places that could not be read */
};

/* What is asked of a reader of the paper: the columns of the answer. */
void al_lint_table_init(struct al_table *table);

/* Adds a row for each number and each place that could not be read, in the order of lines. `map`
 * may be NULL: then tables are only named. */
bool al_paper_lint(const struct al_paper *paper, const struct al_paper_map *map,
	struct al_catalog *catalog, struct al_table *table, struct al_lint_counts *counts,
	struct al_error *err) AL_MUST_CHECK;

/* What is contradicted or could not be read, as compilers report: "paper.tex:217: 19.87M: 18.874368
 * expected (erratum? a slip for 18.87M)". */
void al_lint_text(const struct al_table *table, struct al_text *out);

/* ---- prose.c ---- */

/* A number of a table as it would be printed if it were right, and as it is printed. */
struct al_paper_truth {
	const char *printed, *right, *unit, *expected;
	bool is_contradicted;
};

struct al_paper_finding {
	size_t line;
	const char *printed, *expected, *note; /* each may be NULL */
	const char *verdict; /* NULL: it could not be read */
	size_t place; /* among all findings, which sorting by line keeps */
};

/* Numbers in running text: those that a table prints too, and those that differ from one of a
 * table's by a single digit. */
struct al_paper_prose {
	struct al_paper_finding *slips;
	size_t n_slips, room, n_repeats;
	struct al_paper_finding *runs; /* of several numbers that ran together */
	size_t n_runs, runs_room;
};
void al_paper_read_prose(const struct al_paper *paper, const struct al_paper_truth *truths,
	size_t n_truths, struct al_arena *arena, struct al_paper_prose *out);

/* Do two numbers differ by one digit, or by two neighbours that changed places? */
bool al_paper_is_slip(const char *a, const char *b);

/* ---- relations.c ---- */

/* Ratios and percentages whose two sides stand in the same sentence. */
struct al_paper_relations {
	struct al_paper_finding *items;
	size_t n, room, n_unread;
	size_t n_verdicts[4]; /* by enum al_verdict */
};
void al_paper_read_relations(const struct al_paper *paper, struct al_arena *arena,
	struct al_paper_relations *out);

/* ---- ledger.c ---- */

/* The scenario of a file, to which claims are added: JSON objects, the first of its verdicts. */
bool al_paper_open_scenario(struct al_scenario **out, struct al_catalog *catalog, const char *path,
	const char *claims, struct al_error *err) AL_MUST_CHECK;

/* Each \ledger{PATH}: what the numbers.tex that the paper inputs prints there, beside what the
 * scenario gives now. `scenario` may be NULL, then none is read. */
struct al_paper_ledgers {
	struct al_paper_finding *findings; /* wrong ones and those that are not read */
	size_t n_findings, room, n_right, n_wrong;
};
bool al_paper_read_ledgers(const struct al_paper *paper, struct al_scenario *scenario,
	const char *scenario_file, struct al_arena *arena, struct al_paper_ledgers *out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- draft.c ---- */

/* A map to begin with, of what heads and labels say; the reader completes it. */
void al_paper_draft(const struct al_paper *paper, struct al_text *out);

#endif
