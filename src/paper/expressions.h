/* Arithmetic in sentences. */
#pragma once

#include "paper/lint.h"

/* Judges numbers that an expression of the same sentence gives: "2 x 32 x 8 = 512", "4 + 0.75 + 1.5
 * GB, together 6.25 GB", "13/20 (65 %)". */
void al_paper_read_expressions(const struct al_sentence *sentence, struct al_paper_findings *out,
	struct al_lint_counts *counts);
