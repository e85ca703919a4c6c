/* What binding shares: the scenario that is being made, and where in the paper it is. */
#pragma once

#include "ledger/configured.h"
#include "paper/bind.h"

/* A metric: the numbers of one column of scores, or of several of one variant each. */
struct al_metric {
	const char *name;
	bool is_loss;
	struct al_text rows; /* of its data set */
};

struct al_binder {
	struct al_bound *bound;
	struct al_arena *arena; /* the bound's */
	const struct al_paper *paper;
	const struct al_paper_map *map;
	struct al_paper_subjects *subjects;
	struct al_text variants, cases, data, tables, claims_of_tables;
	struct al_text *claims; /* to which the next one is added */
	const char **known; /* variants that are listed */
	size_t n_known, known_room;

	/* of the table that is being bound */
	const struct al_paper_binding *binding;
	struct al_metric *metrics; /* from left to right */
	size_t n_metrics;
	size_t *metric_of; /* [n_columns] of the binding: of a column of scores */
	struct al_text its_cases, its_variants;
	const char **seen; /* "CASE/VARIANT" of its rows */
	size_t n_seen, seen_room;

	/* of the row: one of the rows that ran into a line */
	const struct al_paper_row *row;
	size_t row_number; /* from 1; several rows may be in one line */
	const char *case_, *variant;
	size_t part, n_parts;
};

/* The metrics of the binding's columns. */
void al_binder_find_metrics(struct al_binder *b);

/* The separator before the next of a list of JSON's values; a text as a value; it, added. */
const char *al_list_comma(const struct al_text *list);
const char *al_binder_quote(const struct al_binder *b, const char *text);
void al_list_add_text(struct al_text *list, const char *text);

void al_binder_add_gap(struct al_binder *b, size_t line, const char *why);

/* Is anything known of the variant besides a paper's measurements? */
bool al_binder_counts(const struct al_binder *b, const char *variant);

/* A claim is begun, perhaps gets members of its own, and is ended by what derives it. */
struct al_paper_site *al_binder_begin_claim(struct al_binder *b, size_t line, const char *printed,
	const char *unit);
void al_binder_end_claim(struct al_binder *b, const char *value);

/* A cell of the row, by its column. */
void al_binder_cell(struct al_binder *b, size_t at);
