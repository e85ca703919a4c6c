/* Ratios and changes of two numbers of a sentence. */
#pragma once

#include "paper/lint.h"

/* Judges statements about pairs of numbers; fractions in words become percentages. */
void al_paper_read_relations(struct al_sentence *sentence, struct al_paper_findings *out,
	struct al_lint_counts *counts);
