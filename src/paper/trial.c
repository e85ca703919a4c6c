/* Whether a relation holds in a grid's rows, in so many and so exactly that chance is none. */
#include "paper/trial.h"

enum {
	OF_CHANGE = AL_BIT(DIFFERENCE) | AL_BIT(POINTS) | AL_BIT(FALL) | AL_BIT(RISE) | AL_BIT(REST)
		| AL_BIT(SUM) | AL_BIT(MEAN)
};

/* Others follow from numbers that aren't changes or factors themselves; factors from changes,
 * too. */
bool al_related_may_be_source(const struct al_related *w, size_t column, size_t t, unsigned form)
{
	const struct al_paper_grid_column *c = &w->grid.columns[column], *to = &w->grid.columns[t];
	const bool is_factor = strcmp(c->unit, "x") == 0, is_of_factor = strcmp(to->unit, "x") == 0;
	const bool is_change = c->has_signs
		|| (*c->unit == '%' && w->forms[column] & ~AL_BIT(SHARE));

	return isfinite(w->grid.columns[column].least) && column != t
		&& is_factor == (form == AL_BIT(PRODUCT) && is_of_factor)
		&& (is_of_factor || !is_change);
}

bool al_related_range(const struct al_paper_number *t, const struct al_paper_range *range,
	double slack)
{
	slack += 1e-9 * fabs(t->value);
	return t->value >= range->low - slack && t->value <= range->high + slack;
}

/* A number that is one of the others again shows no relation, nor does the mean of equal ones, nor
 * a ratio that is 0, or all. */
static bool is_repeated(const struct al_related *w, const struct al_paper_relation *r, size_t row)
{
	const struct al_paper_number *t = al_related_at(w, row, r->t);
	size_t n_other = 0;

	if ((t->value == 0 && !(AL_BIT_OF(r->form) & OF_CHANGE))
		|| (t->value == 100
			&& (r->form == AL_FORM_SHARE || (r->form == AL_FORM_PERCENT && r->bases))))
		return true;
	if (r->form == AL_FORM_RECIPROCAL)
		return false;
	if (r->left)
		return strstr(r->left[row].text, t->text) != NULL;
	for (size_t k = r->a; k <= (r->form >= AL_FORM_SUM ? r->b : r->a); k++) {
		const struct al_paper_number *number = al_related_at(w, row, k);
		const bool is_same = fabs(t->value - number->value) <= fmax(t->half, number->half);
		if (!al_paper_form_is_source(r, k)
			|| (r->form == AL_FORM_SUM && number->value == 0))
			continue;
		n_other += !is_same;
	}
	return n_other == 0;
}

/* The number of the row, and what it is expected to be; false: nothing is. A drop from a base, or
 * one in brackets, may be printed without its sign. */
bool al_related_expect(const struct al_related *w, const struct al_paper_relation *r, size_t row,
	struct al_paper_range *range)
{
	const struct al_paper_number *t = al_related_at(w, row, r->t);

	if (t->half == 0 || !al_paper_form_expect(&w->grid, r, row, range)
		|| is_repeated(w, r, row))
		return false;
	if ((r->t >= w->grid.n_columns || (r->bases && w->named)) && r->form == AL_FORM_DIFFERENCE
		&& range->high < 0 && !w->grid.columns[r->t].has_signs)
		*range = (struct al_paper_range){-range->high, -range->low};
	return true;
}

/* Unless the column is called so, its numbers vary by no more than those that have the relation. */
static double digits_of(const struct al_related *w, const struct al_paper_relation *r, size_t row,
	const struct al_paper_range *range, bool is_named, double span)
{
	const struct al_paper_number *t = al_related_at(w, row, r->t);
	const double half = t->half;
	const double spread = al_paper_form_spread(&w->grid, r, row, range, is_named);
	const double free = is_named ? spread + 1e-300 : fmin(spread, span) + 2 * half;

	return t->value == 0 ? 0 : -log10(fmin((range->high - range->low + 2 * half) / free, 1));
}

/* Relations of columns as near as these, of sources that have no relation themselves. */
static double n_candidates(const struct al_related *w, const struct al_paper_relation *r)
{
	const size_t t = r->t % w->grid.n_columns, a = r->a > t ? r->a - t : t - r->a,
		     b = r->b > t ? r->b - t : t - r->b, most = al_most(a, b);
	double n = 0;

	if (r->left)
		return 2; /* readings of most names */
	for (size_t k = 0; k < w->grid.n_columns; k++) {
		const size_t far = k > t ? k - t : t - k;
		n += far <= most && !w->is_found[k]
			&& al_related_may_be_source(w, k, r->t, AL_BIT_OF(r->form));
	}
	const bool is_next = r->form >= AL_FORM_SUM && (r->b + 1 == t || r->a == t + 1);
	return is_next ? fmax(1, n) : fmax(1, n * (n + 1) / 2);
}

static bool is_enough(const struct al_related *w, const struct al_paper_relation *r,
	const struct al_trial *trial)
{
	const double columns = log10((double)w->grid.n_columns);
	const size_t most = w->pass != AL_PASS_MAY_FAIL ? 0
		: trial->n_hold + trial->n_fail >= 10	? 2
							: 1;

	if (w->pass == AL_PASS_IS_NAMED)
		return trial->n_hold > (r->left ? 1 : 0) && trial->n_hold >= 3 * trial->n_fail
			&& 4 * trial->n_near <= trial->n_hold
			&& trial->digits >= (trial->n_fail > 0		 ? 3 + 2 * columns
							    : r->is_sure ? 0.6
									 : 0.9)
				+ r->unlikely + log10(n_candidates(w, r));
	const bool is_rest = r->form == AL_FORM_REST && r->is_plain && trial->n_fail == 0;
	return trial->n_hold >= (is_rest ? 2 : 4) && 3 * trial->n_near <= trial->n_hold
		&& trial->n_fail <= most && trial->digits >= 0.4 * (double)trial->n_hold
		&& trial->digits >= (al_paper_form_has_factor(r) ? 3 + columns
				   : w->named >> r->form & 1	 ? 3 + 2 * columns
								 : 4 + 3 * columns);
}

/* A value again is evidence of what is named as far as it is shown more exactly, and a factor takes
 * one row to be known. What is judged already isn't of other rows, too. */
static bool try_rows(const struct al_related *w, const struct al_paper_relation *r, double span,
	struct al_trial *out)
{
	const double share = al_paper_form_slack(&w->grid, r);
	const bool has_factor = al_paper_form_has_factor(r) && r->form != AL_FORM_SHARE,
		   is_named = w->named >> r->form & 1;
	double last = NAN, shown = 0, most = 0;

	*out = (struct al_trial){.least = INFINITY, .most = -INFINITY};
	for (size_t i = 0; i < w->grid.n_rows; i++) {
		const struct al_paper_number *t = al_related_at(w, i, r->t);
		struct al_paper_range range;
		if (w->grid.is_summary[i] || (w->grid.is_turned && *t->is_judged && !is_named)
			|| !al_related_expect(w, r, i, &range))
			continue;
		if (al_related_range(t, &range, share * t->half)) {
			const double again = t->value == last ? shown : 0;
			shown = is_named || has_factor ? fmax(again,
					digits_of(w, r, i, &range, is_named || !r->is_plain, span))
						       : 0;
			const double digits = fmax(shown - again,
				has_factor ? 0 : digits_of(w, r, i, &range, false, span));
			out->least = fmin(out->least, t->value);
			out->most = fmax(out->most, t->value);
			out->n_hold++;
			out->digits += digits;
			most = fmax(most, digits);
			last = t->value;
		} else if (al_related_range(t, &range, share * 2 * t->half))
			out->n_near++;
		else if (out->n_fail < 2 || w->pass == AL_PASS_IS_NAMED) {
			out->failed[out->n_fail & 1] = i;
			out->n_fail++;
		} else
			return false;
	}
	out->digits -= has_factor && !r->is_plain ? most : 0;
	return is_enough(w, r, out);
}

bool al_related_try(const struct al_related *w, const struct al_paper_relation *r,
	struct al_trial *out)
{
	return try_rows(w, r, INFINITY, out) && try_rows(w, r, out->most - out->least, out);
}
