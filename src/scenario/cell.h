/* A cell's value, and where it is asked for: a row of a table, at the point values of the data
 * that the value uses, or elsewhere in the box of their ranges. */
#pragma once

#include "formula/interval.h"
#include "scenario/memo.h"

enum { AL_MOST_DATA = 16 };

/* The data that a value uses, and where in their box it is evaluated. */
struct al_data_box {
	const struct al_datum *used[AL_MOST_DATA];
	size_t n;
	const mpq_srcptr *at; /* [n]; NULL: the point values, and what is used is taken in */
};

/* The numbers at a corner: of each datum its low end, or the high one where the corner's bit is
 * set. */
void al_data_box_corner(const struct al_data_box *box, unsigned corner, mpq_srcptr *at);

/* A number, a polynomial, an order in a symbol, or nothing. */
enum al_scenario_cell_kind {
	AL_SCENARIO_MISSING,
	AL_SCENARIO_NUMBER,
	AL_SCENARIO_POLYNOMIAL,
	AL_SCENARIO_ORDER,
	AL_SCENARIO_UNKNOWN, /* no such column */
};

struct al_scenario_cell {
	enum al_scenario_cell_kind kind;
	mpq_t number;
	const struct al_polynomial *polynomial; /* owned by the row's memo */
	int order; /* the degree in the table's order symbol */
	const struct al_datum *datum; /* that it is, without arithmetic; or NULL */
};

struct al_cell_place {
	struct al_evaluator *evaluator;
	const struct al_scenario_table *table;
	struct al_scenario_row row;
	struct al_data_box *box; /* NULL: the point values */
};

void al_scenario_cell_init(struct al_scenario_cell *cell);
void al_scenario_cell_finish(struct al_scenario_cell *cell);

/* A cell, missing so far, that is finished where its block ends. */
#define AL_SCENARIO_CELL(name) \
	AL_ENDS(al_scenario_cell_finish) struct al_scenario_cell name; \
	al_scenario_cell_init(&(name))

/* Setters; each returns true. */
bool al_scenario_cell_set_missing(struct al_scenario_cell *cell);
bool al_scenario_cell_set_number(struct al_scenario_cell *cell, mpq_srcptr number);
bool al_scenario_cell_set_int(struct al_scenario_cell *cell, int64_t number);

/* What a formula gets of a cell, called `name`. False without a message, and *is_missing, where it
 * is missing. */
bool al_scenario_cell_take(const struct al_scenario_cell *cell, const char *name, bool *is_missing,
	struct al_value *value, struct al_error *err) AL_MUST_CHECK;

/* A formula's value; missing where a cell that it needs is, which then is *is_missing. */
bool al_scenario_cell_evaluate(struct al_scenario_cell *cell, const struct al_formula *formula,
	const struct al_scope *scope, const bool *is_missing, struct al_error *err) AL_MUST_CHECK;

/* A datum at the point or elsewhere in the box; missing where it is NULL. */
bool al_scenario_cell_set_datum(struct al_scenario_cell *cell, struct al_data_box *box,
	const struct al_datum *datum, struct al_error *err) AL_MUST_CHECK;

/* ---- evaluate.c: any cell, by a key of the list or a formula over other cells ---- */

/* A cell of any table by its key, whether it is printed or not. */
bool al_cell_value(const struct al_cell_place *place, const char *key, struct al_scenario_cell *out,
	struct al_error *err) AL_MUST_CHECK;

/* An enclosure of the cell's values within the box of its data. */
bool al_cell_enclose(const struct al_cell_place *place, const char *key, struct al_interval *out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- question.c: what a path names of another command's answer ---- */

/* By `names`: one, of a number of the answer's sentence, or two, of a row and a column of its first
 * table with such a cell. It is a datum of the box where the question is given a number. */
bool al_question_value(struct al_evaluator *evaluator, const struct al_scenario_question *question,
	const char *const *names, size_t n, struct al_data_box *box, struct al_scenario_cell *out,
	struct al_error *err) AL_MUST_CHECK;
