/* A cell's value, and where it is asked for: a row of a table, at the point values of the data
 * that the value uses, or elsewhere in the box of their ranges. */
#ifndef ATTNLEDGER_SCENARIO_CELL_H
#define ATTNLEDGER_SCENARIO_CELL_H

#include "formula/interval.h"
#include "scenario/memo.h"

enum { MOST_DATA = 16 };

/* The data that a value uses, and where in their box it is evaluated. */
struct box {
	const struct datum *used[MOST_DATA];
	size_t n;
	const mpq_srcptr *at; /* [n]; NULL: the point values, and what is used is taken in */
};

/* A part of a box: from low[i] to high[i] along used[i]. */
struct region {
	const struct box *box;
	mpq_srcptr low[MOST_DATA], high[MOST_DATA];
};

/* A number, a polynomial, an order in a symbol, or nothing. */
enum cell_kind {
	CELL_MISSING,
	CELL_NUMBER,
	CELL_POLYNOMIAL,
	CELL_ORDER,
	CELL_UNKNOWN, /* no such column */
};

struct cell {
	enum cell_kind kind;
	mpq_t number;
	const struct al_polynomial *polynomial; /* owned by the row's memo */
	int order; /* the degree in the table's order symbol */
	const struct datum *datum; /* that it is, without arithmetic; or NULL */
};

struct place {
	struct evaluator *evaluator;
	const struct table *table;
	struct row row;
	struct box *box; /* NULL: the point values */
};

void al_scenario_cell_init(struct cell *cell);
void al_scenario_cell_finish(struct cell *cell);

/* Setters; each returns true. */
bool al_scenario_cell_set_missing(struct cell *cell);
bool al_scenario_cell_set_number(struct cell *cell, mpq_srcptr number);
bool al_scenario_cell_set_int(struct cell *cell, int64_t number);

/* A datum at the point or elsewhere in the box; missing where it is NULL. */
bool al_scenario_cell_set_datum(struct cell *cell, struct box *box, const struct datum *datum,
	struct al_error *err) AL_MUST_CHECK;

/* What a value can be within a region, of a value that in each datum alone rises or falls all the
 * way: what it is at the corners. A value that is no plain datum may have a pole where a datum is
 * zero. */
typedef bool point_function(void *context, struct box *box, struct cell *out, struct al_error *err);
bool al_enclose_by_corners(point_function *value, void *context, const struct region *region,
	struct al_interval *out, struct al_error *err) AL_MUST_CHECK;

#endif
