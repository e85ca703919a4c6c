/* What reading the relations of a sentence shares: its pairs, and what is judged of them. */
#pragma once

#include "paper/lint.h"
#include "paper/statement.h"

enum { AL_PAIRS_NEAR, AL_PAIRS_FAR };

struct al_relating {
	struct al_sentence *s;
	struct al_paper_findings *out;
	struct al_lint_counts *counts;
	struct al_pair pairs[2][AL_MOST_PAIRS]; /* near to each other, far from each other */
	size_t n_pairs[2];
};

/* What the pair gives, in the unit of the statement: a factor, a percentage, a difference. */
double al_relating_point(const struct al_pair *pair, const struct al_word *said);

/* Adds the finding; what is wrong only where no other pair bears it out. `but`: a remark, or "". */
void al_relating_add(struct al_relating *r, const struct al_pair *pair, const struct al_word *said,
	enum al_verdict verdict, const char *but);

/* ---- differences.c ---- */

/* Judges a number that is the difference of a pair; it counts where it holds to its last digit. */
void al_paper_read_difference(struct al_relating *r, size_t at);

/* ---- restated.c ---- */

/* Fractions in words, in front of a direction, become percentages. */
void al_paper_read_fractions(struct al_sentence *s);

/* Judges a statement that says a factor, or bits, in another way. */
void al_paper_read_restated(struct al_relating *r, size_t at);
