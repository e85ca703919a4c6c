/* Ratios and changes of two numbers of a sentence. */
#pragma once

#include "paper/lint.h"
#include "paper/operands.h"

/* Judges statements about pairs of numbers. `operands`: those of the paragraph, the sentence's
 * last. */
void al_paper_read_relations(struct al_sentence *sentence, const struct al_operands *operands,
	struct al_paper_findings *out, struct al_lint_counts *counts);

/* Judges counts that are made of others (counts.c). */
void al_paper_read_counts(const struct al_sentence *sentence, struct al_paper_findings *out,
	struct al_lint_counts *counts);
