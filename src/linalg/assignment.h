/* The assignment problem: one column for each row, each column once, of the largest sum. */
#pragma once

#include "linalg/linalg.h"

/* to[n]: the column of each row of `gain` [n][n], whose numbers are finite. The Hungarian algorithm
 * with potentials (Kuhn 1955; Jonker and Volgenant 1987), O(n^3). */
void al_assign(struct al_view gain, size_t *to);
