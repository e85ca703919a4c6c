/* A relation tried in the rows of a grid. */
#pragma once

#include "paper/bases.h"
#include "paper/form.h"
#include "paper/left.h"

#define AL_BIT_OF(form) (1u << (form))
#define AL_BIT(form) AL_BIT_OF(AL_FORM_##form)

/* A grid whose columns are related. */
struct al_related {
	struct al_paper_grid grid;
	struct al_paper_bases bases;
	struct al_paper_number *left[AL_LEFT_READINGS]; /* [n_rows] each */
	bool *is_told; /* [n_rows]: a finding has the row */
	bool *is_aggregate; /* [n_columns]: called a sum or a mean */
	unsigned *forms, named; /* [2 n_columns]: that a column's name or unit allows, 0: it has
				   none; those of the one that is looked at */
	struct al_paper_relation *found; /* [2 n_columns] */
	size_t n_found;
	bool *is_found; /* [2 n_columns] */
	enum al_related_pass {
		AL_PASS_ALL_HOLD,
		AL_PASS_MAY_FAIL, /* in a row, or two */
		AL_PASS_IS_NAMED, /* by the head, in most rows: none is accused */
	} pass;
	struct al_paper_findings *out;
	struct al_lint_counts *counts;
};

static inline const struct al_paper_number *al_related_at(const struct al_related *w, size_t row,
	size_t column)
{
	return al_paper_grid_at(&w->grid, row, column);
}

/* May column t be made of this one by a form, a bit? */
bool al_related_may_be_source(const struct al_related *w, size_t column, size_t t, unsigned form);

struct al_trial {
	size_t n_hold, n_near, n_fail, failed[2]; /* near: cut off instead of rounded, perhaps */
	double digits; /* that chance would have had to hit */
	double least, most; /* of the numbers that hold */
};

/* The number of the row, and what it is expected to be; false: nothing is. */
bool al_related_expect(const struct al_related *w, const struct al_paper_relation *r, size_t row,
	struct al_paper_range *range);

/* Is the number in the range, or off by no more than `slack`? */
bool al_related_range(const struct al_paper_number *t, const struct al_paper_range *range,
	double slack);

/* Does the relation hold in enough rows? */
bool al_related_try(const struct al_related *w, const struct al_paper_relation *r,
	struct al_trial *out);
