/* Linting a paper: what of its numbers follows, what doesn't, and what could not be read. */
#pragma once

#include "base/table.h"
#include "paper/bind.h"
#include "paper/words.h"
#include "scenario/scenario.h"

struct al_lint_counts {
	size_t tables; /* that the map describes */
	size_t numbers; /* that were recomputed */
	size_t verdicts[4]; /* of these, by enum al_verdict */
	size_t in_prose; /* in running text: printed again as a table has them */
	size_t slips; /* in running text: contradicted */
	size_t scores; /* taken as they are */
	size_t gaps; /* places that could not be read */
	size_t files; /* that the document includes and that could not be read */
};

/* What is asked of a reader of the paper: the columns of the answer. */
void al_lint_table_init(struct al_table *table);

enum al_paper_gb {
	AL_GB_ANY, /* what fits */
	AL_GB_DECIMAL,
	AL_GB_BINARY,
};

struct al_paper_options {
	const char *models; /* a folder of config.json files; NULL: configs/ next to the paper */
	int gb; /* GB in the paper: enum al_paper_gb */
};

/* The models that the paper may name. */
bool al_paper_open_subjects(struct al_paper_subjects *subjects, const struct al_paper *paper,
	const struct al_paper_options *options, struct al_arena *arena, struct al_catalog *catalog,
	struct al_error *err) AL_MUST_CHECK;

/* Adds a row for each number and each place that could not be read, in the order of lines. What
 * `map`, which may be NULL, doesn't describe is read by its heads and labels. */
bool al_paper_lint(const struct al_paper *paper, const struct al_paper_map *map,
	const struct al_paper_options *options, struct al_catalog *catalog, struct al_table *table,
	struct al_lint_counts *counts, struct al_error *err) AL_MUST_CHECK;

/* What is contradicted or could not be read, as compilers report: "paper.tex:217: 19.87M: 18.874368
 * expected (erratum? a slip for 18.87M)". */
void al_lint_text(const struct al_table *table, struct al_text *out);

/* ---- letter.c ---- */

/* The contradictions of the answer as Markdown, for the paper's authors. */
void al_paper_letter(const struct al_table *table, struct al_text *out);

/* ---- prose.c ---- */

/* A number of a table as it would be printed if it were right, and as it is printed. */
struct al_paper_truth {
	const char *printed, *right, *unit, *expected;
	bool is_contradicted;
};

/* Numbers in running text: those that a table prints too, those that differ from one of a table's
 * by a single digit, and those that ran together. */
void al_paper_read_prose(const struct al_paper *paper, const struct al_paper_truth *truths,
	size_t n_truths, struct al_paper_findings *out, struct al_lint_counts *counts);

/* Do two numbers differ by one digit, or by two neighbors that changed places? */
bool al_paper_is_slip(const char *a, const char *b);

/* ---- sentences.c ---- */

/* What follows within a sentence: ratios and percentages, sums, sizes of caches. */
struct al_deriving;
void al_paper_read_sentences(const struct al_deriving *deriving,
	struct al_paper_subjects *subjects);

/* ---- ledger.c ---- */

/* The scenario of a file, to which claims are added: JSON objects, the first of its verdicts. */
bool al_paper_open_scenario(struct al_scenario **out, struct al_catalog *catalog, const char *path,
	const char *claims, struct al_error *err) AL_MUST_CHECK;

/* Each \ledger{PATH}: what the numbers.tex that the paper inputs prints there, compared with what
 * the scenario gives now: wrong ones and those that are not read. `scenario` may be NULL, then none
 * is read. */
bool al_paper_read_ledgers(const struct al_paper *paper, struct al_scenario *scenario,
	const char *scenario_file, struct al_paper_findings *out, struct al_lint_counts *counts,
	struct al_error *err) AL_MUST_CHECK;

/* ---- draft.c ---- */

/* A map to begin with, from heads and labels; the reader completes it. */
void al_paper_draft(const struct al_paper *paper, struct al_paper_subjects *subjects,
	struct al_text *out);
