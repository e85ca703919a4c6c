/* Rows of reference: those that the other rows of a table's grid are compared with. */
#pragma once

#include "paper/grid.h"

/* One that the column's head names, or that it marks; one with a baseline's label; the first
 * of a group; the last; the first of a block, between rules or lines of text; the one before. */
enum {
	AL_BASE_IN_HEAD,
	AL_BASE_MARKED,
	AL_BASE_LABELLED,
	AL_BASE_OF_GROUP,
	AL_BASE_LAST,
	AL_BASE_OF_BLOCK,
	AL_BASE_BEFORE,
	AL_N_BASES
};

struct al_paper_bases {
	size_t *rows[AL_N_BASES]; /* [n_rows] each */
	bool is_sure[AL_N_BASES]; /* by the column that is looked at */
	struct al_paper_number given; /* by its head; half 0: none */
};

void al_paper_bases_init(struct al_paper_bases *bases, const struct al_paper_grid *grid,
	struct al_arena *scratch);

/* Looks at a column: what it marks, and what its head names. */
void al_paper_bases_look(struct al_paper_bases *bases, struct al_paper_grid *grid, size_t column);
