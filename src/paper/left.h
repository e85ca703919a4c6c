/* What the names of rows leave of a number's 16 bits: "K8V4" 6, "4-bit, 2x evicted" 2. */
#pragma once

#include "paper/grid.h"

/* q4_0 has 4 bits or, with its scales, 4.5; 50 %, or 0.5, are left or gone. */
enum { AL_LEFT_READINGS = 5 };

/* [n_rows], `half` 0 where a name gives none; in bits. */
void al_paper_left_read(struct al_paper_number *out, const struct al_paper_grid *grid, int reading);
