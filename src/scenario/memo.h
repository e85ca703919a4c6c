/* The evaluator: what was computed of a scenario's contents, which it only reads. Cells, claims and
 * corners ask for the same rows again and again: each is computed once. */
#pragma once

#include "scenario/contents.h"

/* Cache of the evaluated measures of one table row. */
struct al_memo {
	struct al_memo *next;
	struct al_scenario_row row;
	bool has_ledger;
	struct al_request request;
	struct al_ledger ledger;
	mpq_srcptr measures[AL_N_MEASURES]; /* NULL: not asked yet, or not known */
	struct al_undeclared undeclared; /* why a measure is not known; variant NULL: all are */
	struct al_polynomial *formula, *cached, *difference;
};

struct al_known_kind;
struct al_answered; /* question.c */
enum { AL_KIND_LISTS = 64 };

struct al_evaluator {
	struct al_arena *arena; /* the scenario's */
	const struct al_scenario *scenario;
	struct al_memo **memos; /* [n_tables], a list each */
	struct al_known_kind *kinds[AL_KIND_LISTS]; /* of columns, by their keys' hashes */
	struct al_answered *answers; /* [n_questions] */
	size_t n_blocks; /* counted against their bound */
	size_t n_look_ups; /* of all tables and the check */
	size_t n_evaluated; /* entries, at the points of sweeps */
};

/* The contents are all read; it lives in their arena. */
struct al_evaluator *al_evaluator_create(const struct al_scenario *scenario,
	struct al_arena *arena);

/* The memo of a row, made where there is none yet. */
bool al_memo_find(struct al_evaluator *evaluator, const struct al_scenario_table *table,
	struct al_scenario_row row, struct al_memo **out, struct al_error *err) AL_MUST_CHECK;

/* Counts look-ups against their bound: a formula of formulas can grow without end. */
bool al_evaluator_spend(struct al_evaluator *evaluator, size_t look_ups,
	struct al_error *err) AL_MUST_CHECK;
