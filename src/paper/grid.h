/* A table's numbers below its head, in rows and columns, or turned: its columns as rows. */
#pragma once

#include "paper/sheet.h"

struct al_paper_number {
	double value, half; /* half 0: there is none */
	int digits;
	const char *text;
	bool *is_judged; /* of the cell, however the table is turned */
	size_t line;
	bool is_marked; /* by a star or a dagger: a note may say that it is of something else */
};

struct al_paper_grid_column {
	const char *name; /* its head, or in a turned table the row's label */
	double least, most, span; /* of its numbers */
	const char *unit; /* of the first number, or its head; "": none */
	bool is_whole; /* numbers without decimals and units */
	bool is_integral; /* without decimals */
	bool has_signs; /* all numbers have one */
};

struct al_paper_grid {
	const struct al_paper_sheet *sheet;
	struct al_arena *arena; /* for texts */
	bool is_turned;
	struct al_paper_number *numbers; /* [n_rows][2 n_columns]: behind all columns what is in
					    brackets, each column's "71.2 (+1.3)" */
	size_t n_rows, n_columns;
	const char **labels; /* [n_rows] */
	bool *is_summary; /* [n_rows]: it sums up others, and may be related otherwise */
	struct al_paper_grid_column *columns; /* [2 n_columns] */
};

/* Numbers lie in `scratch`, their texts in `arena`. */
void al_paper_grid_init(struct al_paper_grid *grid, const struct al_paper_sheet *sheet,
	bool is_turned, struct al_arena *arena, struct al_arena *scratch);

/* What a head or a label calls a relation; a label has to begin with the word. */
enum al_meaning al_paper_grid_relation(const struct al_paper_grid *grid, const char *name,
	bool is_label);

/* The number that a head gives: "vs dense (50.6 tok/s)", "Delta vs 6.8504"; half 0: none. */
struct al_paper_number al_paper_grid_base(struct al_paper_grid *grid, const char *head);

static inline const struct al_paper_number *al_paper_grid_at(const struct al_paper_grid *grid,
	size_t row, size_t column)
{
	return &grid->numbers[row * 2 * grid->n_columns + column];
}
