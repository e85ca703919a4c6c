/* What deriving tables and sentences shares: the cells that are judged together, and what is said
 * of them. */
#pragma once

#include "paper/readings.h"

struct al_deriving {
	const struct al_paper *paper;
	struct al_arena *arena;
	const struct al_paper_options *options;
	struct al_paper_findings *out;
	struct al_lint_counts *counts;
	struct al_table *notes;
	const struct al_paper_sheet *sheet; /* NULL: a sentence */
	/* what is judged together: the cells of one meaning */
	struct al_paper_cell **cells;
	size_t n;
	struct al_paper_fit fit;
	const char *guessed; /* the unit, where the table states none; or NULL */
	bool is_sure; /* enough cells fit the reading that those which don't are in doubt */
};

/* Notes the models, and the facts that the paper leaves open. */
void al_deriving_note(const struct al_deriving *d);

/* The derivation of a cell in a line, with its numbers. */
const char *al_deriving_text(const struct al_deriving *d, const struct al_paper_cell *cell);

/* Conventions under which a cell follows; NULL: it needs none, or doesn't follow. */
const struct al_paper_cause *al_deriving_convention(const struct al_deriving *d,
	const struct al_paper_cell *cell);

/* What may have happened to a cell that doesn't follow. */
struct al_paper_cause al_deriving_cause(const struct al_deriving *d,
	const struct al_paper_cell *cell);

/* The finding; `cause` may be one of no name. */
void al_deriving_add(const struct al_deriving *d, const struct al_paper_cell *cell,
	enum al_verdict verdict, const struct al_paper_cause *cause);
void al_deriving_add_undecided(const struct al_deriving *d, const struct al_paper_cell *cell,
	const struct al_paper_cause *cause);
