/* A relation within a table's grid: what it expects in a row, and how likely chance hits that. */
#pragma once

#include "paper/grid.h"

enum al_paper_form {
	AL_FORM_DIFFERENCE,
	AL_FORM_POINTS, /* a hundred times that, of shares of 1 */
	AL_FORM_RATIO,
	AL_FORM_PERCENT, /* of b that a is */
	AL_FORM_FALL, /* from b to a, in percent */
	AL_FORM_RISE,
	AL_FORM_INVERSE, /* of a and b in a row of reference: b over a */
	AL_FORM_LARGER, /* over the smaller */
	AL_FORM_PRODUCT,
	AL_FORM_SHARE, /* of the sum of a in all rows, in percent */
	AL_FORM_MULTIPLE, /* of a by one factor in all rows */
	AL_FORM_RECIPROCAL, /* one number in all rows over a */
	AL_FORM_REST, /* one number in all rows less a */
	AL_FORM_SUM,
	AL_FORM_MEAN,
	AL_N_FORMS,
};

struct al_paper_range {
	double low, high;
};

/* Column t of columns a and b; of SUM and MEAN from a to b. */
struct al_paper_relation {
	enum al_paper_form form;
	size_t t, a, b;
	const size_t *bases; /* [n_rows]: b is a in this row; NULL: in the same */
	const struct al_paper_number *base; /* b itself; or NULL */
	const struct al_paper_number *left; /* [n_rows]: a itself; or NULL */
	bool is_sure; /* the column names the base */
	double unlikely; /* digits of evidence that it needs besides */
	bool has_counts; /* columns without decimals aren't rounded */
	const bool *omitted; /* [n_columns]: of SUM and MEAN; or NULL */
	struct al_paper_range factor; /* of SHARE and what comes behind it */
	bool is_plain; /* a half, 1,000: not one that is taken as it fits */
};

static inline bool al_paper_form_has_factor(const struct al_paper_relation *r)
{
	return r->form >= AL_FORM_SHARE && r->form <= AL_FORM_REST;
}

bool al_paper_form_is_source(const struct al_paper_relation *r, size_t column);

/* Terms have one unit, and so have the two of a ratio. A whole number that isn't a percentage or a
 * factor is no ratio of numbers with decimals. */
bool al_paper_form_is_possible(const struct al_paper_grid *grid, const struct al_paper_relation *r,
	bool is_named);

/* What the column would be in the row, within what rounding allows; false: the row has no such
 * relation. */
bool al_paper_form_expect(const struct al_paper_grid *grid, const struct al_paper_relation *r,
	size_t row, struct al_paper_range *out);

/* By how much the number of the row would vary if the relation were none; is_named: a number of
 * what the column is called, of another origin. */
double al_paper_form_spread(const struct al_paper_grid *grid, const struct al_paper_relation *r,
	size_t row, const struct al_paper_range *range, bool is_named);

/* How much of its rounding the number itself may be off. */
double al_paper_form_slack(const struct al_paper_grid *grid, const struct al_paper_relation *r);

/* The factor that most rows from `first` on agree on; false: none is. */
bool al_paper_form_fit(const struct al_paper_grid *grid, struct al_paper_relation *r, size_t first);

/* "the ratio of 16.0 and 4.1" */
const char *al_paper_form_text(const struct al_paper_grid *grid, const struct al_paper_relation *r,
	size_t row);
