/* What reading the relations of a sentence shares: its pairs, and what is judged of them. */
#pragma once

#include "paper/lint.h"
#include "paper/operands.h"
#include "paper/statement.h"

struct al_relating {
	struct al_sentence *s;
	struct al_paper_findings *out;
	struct al_lint_counts *counts;
	const struct al_operands *operands; /* of the paragraph, the sentence's last */
	struct al_pair pairs[AL_MOST_PAIRS];
	size_t n_pairs;
};

/* What the pair gives, in the unit of the statement: a factor, a percentage, a difference. */
double al_relating_point(const struct al_pair *pair, const struct al_word *said);

/* Adds the finding; what is wrong only where no other pair bears it out, and of its own no other
 * statement of the kind holds. `but`: a remark, or "". */
void al_relating_add(struct al_relating *r, const struct al_pair *pair, const struct al_word *said,
	enum al_verdict verdict, const char *but);

/* ---- nearby.c ---- */

/* Judges a statement by the nearest two operands of one unit of which it holds to its last digit;
 * false: there are none, or as near ones are so many that chance would do. */
bool al_paper_read_nearby(struct al_relating *r, size_t at);

/* ---- restated.c ---- */

/* Fractions in words, in front of a direction, become percentages. */
void al_paper_read_fractions(struct al_sentence *s);

/* Judges a statement that says a factor, or bits, in another way; false: it doesn't. */
bool al_paper_read_restated(struct al_relating *r, size_t at);

/* ---- rates.c ---- */

/* Does the number follow from quantities whose units it is made of? */
bool al_paper_read_rate(struct al_relating *r, size_t at);
