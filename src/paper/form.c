#include "paper/form.h"

static const char *const operations[AL_N_FORMS] = {[AL_FORM_DIFFERENCE] = "the difference",
	[AL_FORM_POINTS] = "the difference in points",
	[AL_FORM_RATIO] = "the ratio",
	[AL_FORM_PERCENT] = "the percentage",
	[AL_FORM_FALL] = "the fall in percent",
	[AL_FORM_RISE] = "the rise in percent",
	[AL_FORM_INVERSE] = "the inverse ratio",
	[AL_FORM_LARGER] = "the ratio",
	[AL_FORM_PRODUCT] = "the product",
	[AL_FORM_SUM] = "the sum",
	[AL_FORM_MEAN] = "the mean"};

bool al_paper_form_is_source(const struct al_paper_relation *r, size_t column)
{
	if (r->form >= AL_FORM_SUM)
		return column >= r->a && column <= r->b && !(r->omitted && r->omitted[column]);
	return column == r->a || column == r->b;
}

/* ---- what is expected ---- */

/* Whole numbers alone are counts, and exact: rounded ones would fit nearly anything. */
static bool is_exact(const struct al_paper_grid *g, const struct al_paper_relation *r)
{
	if (r->left || !g->columns[r->t].is_whole)
		return false;
	for (size_t k = 0; k < 2 * g->n_columns; k++)
		if (al_paper_form_is_source(r, k) && !g->columns[k].is_whole)
			return false;
	return true;
}

double al_paper_form_slack(const struct al_paper_grid *g, const struct al_paper_relation *r)
{
	const bool is_rounded = r->form >= AL_FORM_PERCENT && r->form != AL_FORM_SUM
		&& r->form != AL_FORM_INVERSE && r->form != AL_FORM_PRODUCT
		&& r->form != AL_FORM_REST;

	return is_exact(g, r) && !is_rounded ? 0 : 1;
}

/* By how much a term may differ from what it was; `exact`: all of them. */
static double rounding_of(const struct al_paper_grid *g, const struct al_paper_relation *r,
	bool exact, size_t column, const struct al_paper_number *number)
{
	return exact || (r->has_counts && g->columns[column].is_integral) ? 0 : number->half;
}

static double apply(enum al_paper_form form, double a, double b)
{
	switch (form) {
	case AL_FORM_DIFFERENCE:
		return a - b;
	case AL_FORM_POINTS:
		return 100 * (a - b);
	case AL_FORM_RATIO:
		return a / b;
	case AL_FORM_PERCENT:
		return 100 * a / b;
	case AL_FORM_FALL:
		return 100 * (b - a) / b;
	case AL_FORM_RISE:
		return 100 * (a - b) / b;
	case AL_FORM_INVERSE:
	case AL_FORM_RECIPROCAL:
		return b / a;
	case AL_FORM_REST:
		return b - a;
	case AL_FORM_LARGER:
		return fmax(a / b, b / a);
	default:
		return a * b;
	}
}

static bool sum_up(const struct al_paper_grid *g, const struct al_paper_relation *r, size_t row,
	struct al_paper_range *out)
{
	const bool exact = is_exact(g, r);
	double n = 0;

	*out = (struct al_paper_range){0, 0};
	for (size_t k = r->a; k <= r->b; k++) {
		const struct al_paper_number *number = al_paper_grid_at(g, row, k);
		if (!al_paper_form_is_source(r, k))
			continue;
		if (number->half == 0)
			return false;
		const double half = rounding_of(g, r, exact, k, number);
		out->low += number->value - half;
		out->high += number->value + half;
		n++;
	}
	if (r->form == AL_FORM_MEAN && n > 1) {
		out->low /= n;
		out->high /= n;
	}
	return n > 1;
}

static const struct al_paper_number *first_of(const struct al_paper_grid *g,
	const struct al_paper_relation *r, size_t row)
{
	return r->left ? &r->left[row] : al_paper_grid_at(g, row, r->a);
}

/* b, of which the row may be the one of reference. */
static const struct al_paper_number *base_of(const struct al_paper_grid *g,
	const struct al_paper_relation *r, size_t row)
{
	return r->base ? r->base : al_paper_grid_at(g, r->bases ? r->bases[row] : row, r->b);
}

bool al_paper_form_expect(const struct al_paper_grid *g, const struct al_paper_relation *r,
	size_t row, struct al_paper_range *out)
{
	if (r->form >= AL_FORM_SUM)
		return sum_up(g, r, row, out);
	const struct al_paper_number *a = first_of(g, r, row), *b = base_of(g, r, row);
	const bool exact = is_exact(g, r);
	const double half_a = rounding_of(g, r, exact, r->a, a),
		     low = al_paper_form_has_factor(r)
		? r->factor.low
		: b->value - rounding_of(g, r, exact, r->b, b),
		     high = al_paper_form_has_factor(r) ? r->factor.high : 2 * b->value - low;
	if (a->half == 0 || b->half == 0
		|| (r->bases
			&& (r->bases[row] == row || (r->form == AL_FORM_FALL && b->value == 100)))
		|| (r->left && a->value == b->value)
		|| (r->form > AL_FORM_POINTS && r->form != AL_FORM_REST
			&& (b->value <= b->half || a->value <= a->half)))
		return false;
	*out = (struct al_paper_range){INFINITY, -INFINITY};
	for (int i = 0; i < 4; i++) {
		const double value = apply(r->form, a->value + (i & 1 ? half_a : -half_a),
			i & 2 ? high : low);
		out->low = fmin(out->low, value);
		out->high = fmax(out->high, value);
	}
	/* a hundred times what rounding hides */
	return r->form != AL_FORM_POINTS || out->high - out->low < fabs(out->low + out->high) / 2
		|| half_a < 0.006;
}

/* Two measurements may be nearly the same, and shares of a hundred are themselves. */
static bool is_far_from_1(const struct al_paper_relation *r)
{
	return r->factor.high < 0.8 || r->factor.low > 1.25;
}

static bool fit_share(const struct al_paper_grid *g, struct al_paper_relation *r)
{
	const bool exact = is_exact(g, r);
	double sum = 0, half = 0;

	for (size_t i = 0; i < g->n_rows; i++)
		if (!g->is_summary[i]) {
			sum += al_paper_grid_at(g, i, r->a)->value;
			half += rounding_of(g, r, exact, r->a, al_paper_grid_at(g, i, r->a));
		}
	r->factor = (struct al_paper_range){100 / (sum + half), 100 / (sum - half)};
	return half < 0.05 * sum && is_far_from_1(r);
}

/* 1 or 100; of counts any other number that isn't small, as ranks and scores of ten are. */
static bool fit_rest(const struct al_paper_grid *g, struct al_paper_relation *r, size_t first)
{
	enum { SMALL = 12 };

	for (size_t i = first; i < g->n_rows; i++) {
		const struct al_paper_number *a = al_paper_grid_at(g, i, r->a),
					     *t = al_paper_grid_at(g, i, r->t);
		if (a->half == 0 || t->half == 0 || g->is_summary[i])
			continue;
		const double sum = a->value + t->value, half = a->half + t->half + 1e-9;
		const double of = fabs(sum - 1) < half ? 1 : fabs(sum - 100) < half ? 100 : sum;
		r->is_plain = of == 1 || of == 100;
		r->factor = (struct al_paper_range){of, of};
		return r->is_plain || (is_exact(g, r) && sum >= SMALL);
	}
	return false;
}

/* Settings may be in proportion: 1, 2 and 4 devices for 8, 16 and 32 sequences. */
static void find_plain(const struct al_paper_grid *g, struct al_paper_relation *r)
{
	static const double plain[] = {2, 4, 8, 10, 16, 60, 100, 1000, 1024, 1e6};

	const bool may_be = !g->columns[r->t].is_integral || !g->columns[r->a].is_integral;
	r->is_plain = false;
	for (size_t i = 0; may_be && i < sizeof(plain) / sizeof(*plain) && !r->is_plain; i++) {
		const double factor = r->factor.high < 1 ? 1 / plain[i] : plain[i];
		r->is_plain = factor >= r->factor.low && factor <= r->factor.high;
		if (r->is_plain)
			r->factor = (struct al_paper_range){factor, factor};
	}
}

/* The factors of the first row that all others allow, but for those that allow none. */
bool al_paper_form_fit(const struct al_paper_grid *g, struct al_paper_relation *r, size_t first)
{
	const bool exact = is_exact(g, r);
	size_t n = 0, n_other = 0;

	if (r->form == AL_FORM_SHARE)
		return fit_share(g, r);
	if (r->form == AL_FORM_REST)
		return fit_rest(g, r, first);
	for (size_t i = first; i < g->n_rows && n_other <= 2; i++) {
		const struct al_paper_number *a = al_paper_grid_at(g, i, r->a),
					     *t = al_paper_grid_at(g, i, r->t);
		const double half = rounding_of(g, r, exact, r->a, a);
		const bool is_multiple = r->form == AL_FORM_MULTIPLE;
		if (a->value <= a->half || t->value <= t->half || g->is_summary[i])
			continue;
		const double least = a->value - half, most = a->value + half;
		const double low = (t->value - t->half) * (is_multiple ? 1 / most : least),
			     high = (t->value + t->half) * (is_multiple ? 1 / least : most);
		if (n > 0 && (low > r->factor.high || high < r->factor.low)) {
			n_other++;
			continue;
		}
		r->factor = n == 0 ? (struct al_paper_range){low, high}
				   : (struct al_paper_range){fmax(low, r->factor.low),
					   fmin(high, r->factor.high)};
		n++;
	}
	find_plain(g, r);
	return n >= 4 && n_other <= 2 && (r->form != AL_FORM_MULTIPLE || is_far_from_1(r));
}

/* ---- what chance would do ---- */

bool al_paper_form_is_possible(const struct al_paper_grid *g, const struct al_paper_relation *r,
	bool is_named)
{
	const struct al_paper_grid_column *t = &g->columns[r->t];
	const bool is_of_terms = r->form >= AL_FORM_REST || r->form == AL_FORM_DIFFERENCE;
	const bool is_of_any = (r->form >= AL_FORM_PRODUCT && r->form < AL_FORM_REST)
		|| (is_named && r->form <= AL_FORM_POINTS);

	if (t->is_whole && !*t->unit && !r->left && r->form != AL_FORM_SUM && !is_of_any
		&& !is_exact(g, r))
		return false;
	if ((r->form == AL_FORM_POINTS && g->columns[r->a].is_integral)
		|| (r->form == AL_FORM_REST && t->has_signs))
		return false;
	/* "Accuracy (%)" may have an "Avg." without it */
	const char *unit = is_of_terms && (*t->unit || !is_named) ? t->unit : g->columns[r->a].unit;
	for (size_t k = 0; k < g->n_columns && !is_of_any && !r->left; k++)
		if (al_paper_form_is_source(r, k) && strcmp(g->columns[k].unit, unit) != 0)
			return false;
	return true;
}

/* A term that rounding hides shows nothing. */
static double freedom_of_sum(const struct al_paper_grid *g, const struct al_paper_relation *r,
	size_t row, double width, bool is_named)
{
	enum { CLEAR = 3 };
	double n = 0, least = INFINITY, most = -INFINITY;

	for (size_t k = r->a; k <= r->b; k++)
		if (al_paper_form_is_source(r, k)) {
			least = fmin(least, al_paper_grid_at(g, row, k)->value);
			most = fmax(most, al_paper_grid_at(g, row, k)->value);
			n++;
		}
	if (is_named)
		return r->form == AL_FORM_MEAN ? most - least
					       : fabs(al_paper_grid_at(g, row, r->t)->value);
	for (size_t k = r->a; k <= r->b; k++)
		if (al_paper_form_is_source(r, k) && g->columns[k].span > 0
			&& g->columns[k].span / (r->form == AL_FORM_MEAN ? n : 1) < CLEAR * width)
			return 0;
	return g->columns[r->t].span;
}

/* No more than by what it is made of: by one of the two, the other being what it is. A factor's
 * news is how far it is from 1. */
double al_paper_form_spread(const struct al_paper_grid *g, const struct al_paper_relation *r,
	size_t row, const struct al_paper_range *range, bool is_named)
{
	const double value = fabs(al_paper_grid_at(g, row, r->t)->value);

	if (r->form >= AL_FORM_SUM)
		return freedom_of_sum(g, r, row, range->high - range->low, is_named);
	if (r->form == AL_FORM_MULTIPLE || r->form == AL_FORM_RECIPROCAL)
		return (r->is_plain ? 1 : 0.1) * value; /* what is measured grows so evenly */
	if (is_named && r->form != AL_FORM_REST)
		return r->form == AL_FORM_RATIO || r->form == AL_FORM_INVERSE
				|| r->form == AL_FORM_LARGER
			? fmin(value, fabs(value - 1))
			: r->form == AL_FORM_PERCENT ? fabs(value - 100)
						     : value;
	if (r->base || r->form == AL_FORM_LARGER || r->form == AL_FORM_SHARE)
		return 0;
	const struct al_paper_grid_column *a = &g->columns[r->a], *b = &g->columns[r->b];
	const double va = al_paper_grid_at(g, row, r->a)->value, vb = base_of(g, r, row)->value;
	const double by_a = fabs(apply(r->form, a->most, vb) - apply(r->form, a->least, vb));
	const double by_b = fabs(apply(r->form, va, b->most) - apply(r->form, va, b->least));
	const double least = fmin(g->columns[r->t].span, a->span == 0 ? by_b : by_a);

	return r->bases || b->span == 0 ? least : fmin(least, by_b);
}

/* ---- what is said ---- */

const char *al_paper_form_text(const struct al_paper_grid *g, const struct al_paper_relation *r,
	size_t row)
{
	const struct al_paper_number *a = first_of(g, r, row), *b = base_of(g, r, row);
	const char *terms = g->is_turned ? "rows" : "columns";
	const size_t first = g->is_turned ? g->sheet->n_heads + 1 : 1;

	if (r->form >= AL_FORM_SUM)
		return al_format(g->arena, "%s of %s %zu to %zu%s", operations[r->form], terms,
			r->a + first, r->b + first,
			r->omitted ? " but for sums and means of them" : "");
	const double factor = (r->factor.low + r->factor.high) / 2;
	if (r->form == AL_FORM_SHARE)
		return al_format(g->arena, "the share of %s in %.4g", a->text, 100 / factor);
	if (r->form == AL_FORM_MULTIPLE)
		return al_format(g->arena, "%s times %.4g", a->text, factor);
	if (r->form == AL_FORM_RECIPROCAL)
		return al_format(g->arena, "%.4g over %s", factor, a->text);
	if (r->form == AL_FORM_REST)
		return al_format(g->arena, "what %s leaves of %.4g", a->text, factor);
	const bool is_turned = r->form == AL_FORM_LARGER && b->value > a->value;
	return al_format(g->arena, "%s of %s%s and %s%s", operations[r->form],
		r->left ? "the bits of " : "", (is_turned ? b : a)->text, (is_turned ? a : b)->text,
		r->bases ? ", that of the row that others refer to" : "");
}
