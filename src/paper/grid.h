/* A table's numbers below its head, in rows and columns. */
#pragma once

#include "paper/sheet.h"

struct al_paper_number {
	double value, half; /* half 0: there is none */
	int digits;
	const char *text;
};

struct al_paper_grid_column {
	double least, most, span; /* of its numbers */
	const char *unit; /* of the first number, or its head; "": none */
	bool is_whole; /* numbers without decimals and units */
};

struct al_paper_grid {
	const struct al_paper_sheet *sheet;
	struct al_arena *arena; /* for texts */
	struct al_paper_number *numbers; /* [n_rows][2 n_columns]: behind all columns what is in
					    brackets, each column's "71.2 (+1.3)" */
	size_t n_rows, n_columns;
	struct al_paper_grid_column *columns; /* [2 n_columns] */
};

/* Numbers lie in `scratch`, their texts in `arena`. Rows that sum up others have none. */
void al_paper_grid_init(struct al_paper_grid *grid, const struct al_paper_sheet *sheet,
	struct al_arena *arena, struct al_arena *scratch);

static inline const struct al_paper_number *al_paper_grid_at(const struct al_paper_grid *grid,
	size_t row, size_t column)
{
	return &grid->numbers[row * 2 * grid->n_columns + column];
}
