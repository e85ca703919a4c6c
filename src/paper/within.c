/* Relations within a table, for which no model is needed: a column that is the difference, ratio or
 * product of two others, the sum or mean of those next to it, or a share of the marked row. One
 * that holds in nearly all rows is meant, and the row in which it fails is named. */
#include "paper/within.h"

#include "paper/grid.h"
#include "scenario/scenario.h"

enum form {
	DIFFERENCE,
	RATIO,
	PERCENT, /* of b that a is */
	FALL, /* from b to a, in percent */
	RISE,
	INVERSE, /* of a and b in the marked row: b over a */
	PRODUCT,
	SUM,
	MEAN,
	N_FORMS,
};

static const char *const operations[N_FORMS] = {[DIFFERENCE] = "the difference",
	[RATIO] = "the ratio",
	[PERCENT] = "the percentage",
	[FALL] = "the fall in percent",
	[RISE] = "the rise in percent",
	[INVERSE] = "the inverse ratio",
	[PRODUCT] = "the product",
	[SUM] = "the sum",
	[MEAN] = "the mean"};

/* Column t of columns a and b; of SUM and MEAN from a to b. */
struct relation {
	enum form form;
	size_t t, a, b;
	bool is_of_base; /* b is a in the marked row */
};

struct within {
	struct al_paper_grid grid;
	size_t *bases; /* [n_rows]: the marked row of one, by the column that is looked at */
	bool *is_told; /* [n_rows]: a finding has the row */
	struct relation *found; /* [2 n_columns] */
	size_t n_found;
	enum pass {
		ALL_HOLD,
		MAY_FAIL, /* in a row, or two */
		IS_NAMED, /* by the head, in two rows or more, all of which hold */
	} pass;
	struct al_paper_findings *out;
	struct al_lint_counts *counts;
};

static const struct al_paper_number *at(const struct within *w, size_t row, size_t column)
{
	return al_paper_grid_at(&w->grid, row, column);
}

/* "1.0x", "100%", "0%", a dash: the row to which others refer. 1 alone is a number as any. */
static bool is_mark(const struct al_paper_number *n)
{
	static const char *const dashes[] = {"\u2013", "\u2014", "\u00b10"};
	const char *text = n->text ? n->text : "";

	if (n->half > 0)
		return n->digits > 0 || strpbrk(text, "x%") ? n->value == 1 || n->value == 100
							    : false;
	return !text[strspn(text, "-+0.%")]
		|| al_find_name(text, dashes, sizeof(dashes) / sizeof(*dashes)) >= 0;
}

/* The marked row before each; the last one for all where no other is marked; else the first row
 * before the marked ones. */
static void find_bases(struct within *w, size_t column)
{
	size_t n = 0, base = 0;

	for (size_t i = 0; i < w->grid.n_rows; i++)
		if (is_mark(at(w, i, column))) {
			base = i;
			n++;
		}
	base = n == 1 && base == w->grid.n_rows - 1 ? base : 0;
	for (size_t i = 0; i < w->grid.n_rows; i++) {
		if (is_mark(at(w, i, column)))
			base = i;
		w->bases[i] = base;
	}
}

/* ---- a relation in a row ---- */

struct range {
	double low, high;
};

static double apply(enum form form, double a, double b)
{
	switch (form) {
	case DIFFERENCE:
		return a - b;
	case RATIO:
		return a / b;
	case PERCENT:
		return 100 * a / b;
	case FALL:
		return 100 * (b - a) / b;
	case RISE:
		return 100 * (a - b) / b;
	case INVERSE:
		return b / a;
	default:
		return a * b;
	}
}

static bool is_source(const struct relation *r, size_t column)
{
	return r->form >= SUM ? column >= r->a && column <= r->b : column == r->a || column == r->b;
}

/* Whole numbers alone are counts, and exact: rounded ones would fit nearly anything. */
static bool is_exact(const struct within *w, const struct relation *r)
{
	for (size_t k = 0; k < 2 * w->grid.n_columns; k++)
		if ((k == r->t || is_source(r, k)) && !w->grid.columns[k].is_whole)
			return false;
	return true;
}

static bool sum_of(const struct within *w, const struct relation *r, size_t row, struct range *out)
{
	const double n = r->form == MEAN ? (double)(r->b - r->a + 1) : 1;
	const double share = is_exact(w, r) ? 0 : 1;

	*out = (struct range){0, 0};
	for (size_t k = r->a; k <= r->b; k++) {
		const struct al_paper_number *number = at(w, row, k);
		if (number->half == 0)
			return false;
		out->low += (number->value - share * number->half) / n;
		out->high += (number->value + share * number->half) / n;
	}
	return true;
}

/* What the column would be in the row, within what rounding allows. */
static bool expect(const struct within *w, const struct relation *r, size_t row, struct range *out)
{
	if (r->form >= SUM)
		return sum_of(w, r, row, out);
	const size_t base = r->is_of_base ? w->bases[row] : row;
	const struct al_paper_number *a = at(w, row, r->a), *b = at(w, base, r->b);
	const double share = is_exact(w, r) ? 0 : 1;
	if (a->half == 0 || b->half == 0 || (r->is_of_base && base == row) || b->value <= b->half
		|| a->value < 0)
		return false;
	*out = (struct range){INFINITY, -INFINITY};
	for (int i = 0; i < 4; i++) {
		const double value = apply(r->form, a->value + (i & 1 ? share : -share) * a->half,
			b->value + (i & 2 ? share : -share) * b->half);
		out->low = fmin(out->low, value);
		out->high = fmax(out->high, value);
	}
	return true;
}

/* ---- judging ---- */

struct trial {
	size_t n_hold, n_near, n_fail, failed[2]; /* near: cut off instead of rounded, perhaps */
	double digits; /* that chance would have had to hit */
};

/* Terms have one unit, and so have the two of a ratio. A whole number that isn't a percentage or a
 * factor is no ratio of numbers with decimals. */
static bool is_possible(const struct within *w, const struct relation *r)
{
	const struct al_paper_grid_column *t = &w->grid.columns[r->t];
	const bool is_of_terms = r->form >= SUM || r->form == DIFFERENCE;

	if (t->is_whole && !*t->unit && r->form != SUM && r->form != PRODUCT && !is_exact(w, r))
		return false;
	for (size_t k = 0; k < w->grid.n_columns; k++)
		if (is_source(r, k)
			&& ((is_of_terms && strcmp(w->grid.columns[k].unit, t->unit) != 0)
				|| (!is_of_terms && r->form != PRODUCT
					&& strcmp(w->grid.columns[k].unit,
						   w->grid.columns[r->a].unit)
						!= 0)))
			return false;
	return true;
}

/* By how much the column would vary if the relation were none. A term that rounding hides shows
 * nothing. */
static double freedom_of_sum(const struct within *w, const struct relation *r, double width)
{
	enum { CLEAR = 3 };
	const double n = r->form == MEAN ? (double)(r->b - r->a + 1) : 1;

	for (size_t k = r->a; k <= r->b; k++)
		if (w->grid.columns[k].span > 0 && w->grid.columns[k].span / n < CLEAR * width)
			return 0;
	return w->grid.columns[r->t].span;
}

/* No more than by what it is made of: by one of the two, the other being what it is. */
static double freedom(const struct within *w, const struct relation *r, size_t row)
{
	const struct al_paper_grid_column *a = &w->grid.columns[r->a], *b = &w->grid.columns[r->b];
	const double va = at(w, row, r->a)->value,
		     vb = at(w, r->is_of_base ? w->bases[row] : row, r->b)->value;
	const double by_a = fabs(apply(r->form, a->most, vb) - apply(r->form, a->least, vb));
	const double by_b = fabs(apply(r->form, va, b->most) - apply(r->form, va, b->least));
	const double least = fmin(w->grid.columns[r->t].span, by_a);

	return r->is_of_base || b->span == 0 ? least : fmin(least, by_b);
}

static bool is_within(const struct al_paper_number *t, const struct range *range, double slack)
{
	slack += 1e-9 * fabs(t->value);
	return t->value >= range->low - slack && t->value <= range->high + slack;
}

/* A number that is the first of the others again shows no relation, nor does the mean of equal
 * ones. */
static bool is_repeated(const struct within *w, const struct relation *r, size_t row)
{
	const struct al_paper_number *t = at(w, row, r->t);

	if (r->form == SUM)
		return false;
	for (size_t k = r->a; k <= (r->form == MEAN ? r->b : r->a); k++)
		if (fabs(t->value - at(w, row, k)->value) > fmax(t->half, at(w, row, k)->half))
			return false;
	return true;
}

static bool try(const struct within *w, const struct relation *r, struct trial *out)
{
	const bool is_percentage = r->form == PERCENT || r->form == FALL || r->form == RISE;
	const double share = is_exact(w, r) && !is_percentage ? 0 : 1;

	*out = (struct trial){0};
	for (size_t i = 0; i < w->grid.n_rows; i++) {
		const struct al_paper_number *t = at(w, i, r->t);
		struct range range;
		if (t->half == 0 || !expect(w, r, i, &range) || is_repeated(w, r, i))
			continue;
		if (is_within(t, &range, share * t->half)) {
			const double width = range.high - range.low + 2 * t->half;
			const double chance = width
				/ ((r->form >= SUM ? freedom_of_sum(w, r, width) : freedom(w, r, i))
					+ 2 * t->half);
			out->n_hold++;
			out->digits -= log10(fmin(chance, 1));
		} else if (is_within(t, &range, share * 2 * t->half))
			out->n_near++;
		else if (out->n_fail < 2)
			out->failed[out->n_fail++] = i;
		else
			return false;
	}
	const double columns = log10((double)w->grid.n_columns);
	const size_t most = w->pass != MAY_FAIL ? 0 : out->n_hold + out->n_fail >= 10 ? 2 : 1;
	if (w->pass == IS_NAMED)
		return out->n_hold >= 2 && out->n_near == 0 && out->n_fail == 0
			&& out->digits >= 1.5 + 1.5 * columns;
	return out->n_hold >= 4 && 3 * out->n_near <= out->n_hold && out->n_fail <= most
		&& out->digits >= 4 + 3 * columns;
}

/* Is it what the head of its column calls it? */
static bool is_named(const struct within *w, const struct relation *r)
{
	static const unsigned forms[] = {
		[AL_MEANS_SUM] = 1 << SUM,
		[AL_MEANS_MEAN] = 1 << MEAN,
		[AL_MEANS_CHANGE] = 1 << DIFFERENCE | 1 << FALL | 1 << RISE | 1 << RATIO
			| 1 << INVERSE,
		[AL_MEANS_RATIO] = 1 << RATIO | 1 << INVERSE | 1 << PERCENT,
	};
	const struct al_paper_vocabulary *v = &w->grid.sheet->subjects->vocabulary;
	const char *head = r->t < w->grid.n_columns ? w->grid.sheet->heads[r->t].text : "";
	const enum al_meaning meaning = al_paper_heads_find(v->relations, v->n_relations,
		al_paper_normal(w->grid.arena, head))
						->meaning;

	return meaning != AL_MEANS_NOTHING && forms[meaning] >> r->form & 1;
}

static const char *say(const struct within *w, const struct relation *r, size_t row)
{
	const struct al_paper_number *a = at(w, row, r->a),
				     *b = at(w, r->is_of_base ? w->bases[row] : row, r->b);

	if (r->form >= SUM)
		return al_format(w->grid.arena, "%s of columns %zu to %zu", operations[r->form],
			r->a + 1, r->b + 1);
	return al_format(w->grid.arena, "%s of %s and %s%s", operations[r->form], a->text, b->text,
		r->is_of_base ? ", that of the row that others refer to" : "");
}

/* A rise of few percent is a fall of as many: what is meant shows in the row that seems to fail. */
static bool is_of_other_form(const struct within *w, const struct relation *r, size_t row)
{
	const struct al_paper_number *t = at(w, row, r->t);
	struct relation other = *r;
	struct range range;

	for (int form = 0; form < SUM && r->form < SUM; form++) {
		other.form = (enum form)form;
		if (expect(w, &other, row, &range) && is_within(t, &range, t->half))
			return true;
	}
	return false;
}

static void name(struct within *w, const struct relation *r, const struct trial *trial, size_t row)
{
	enum { FAR = 3 };
	const struct al_paper_number *t = at(w, row, r->t);
	struct range range;

	if (w->is_told[row] || is_of_other_form(w, r, row) || !expect(w, r, row, &range))
		return;
	const double right = (range.low + range.high) / 2;
	if (right * t->value < 0) /* a fall may be printed as what was won */
		return;
	const struct al_paper_suspect suspect = {.printed = t->text,
		.value = fabs(t->value),
		.right = fabs(right),
		.half = t->half,
		.digits = t->digits};
	/* What is far off is of something else. */
	if ((suspect.value > FAR * suspect.right || FAR * suspect.value < suspect.right)
		&& !al_paper_is_digit_slip(w->grid.arena, &suspect))
		return;
	w->is_told[row] = true;
	al_paper_add_wrong(w->out, w->counts, &suspect,
		&(struct al_paper_finding){.line = w->grid.sheet->table
							   ->rows[w->grid.sheet->n_heads + row]
							   .line,
			.expected = al_format(w->grid.arena, "%.*f", t->digits + 1, right),
			.derivation = al_format(w->grid.arena, "%s, as in %zu other rows",
				say(w, r, row), trial->n_hold)});
}

/* The column has a relation, or is in this one: a = t + b is t = a - b again. */
static bool is_known(const struct within *w, const struct relation *r)
{
	for (size_t i = 0; i < w->n_found; i++)
		if (w->found[i].t == r->t
			|| (is_source(&w->found[i], r->t) && is_source(r, w->found[i].t)))
			return true;
	return false;
}

static void judge(struct within *w, const struct relation *r)
{
	struct trial trial;

	if (is_known(w, r) || (w->pass == IS_NAMED && !is_named(w, r)) || !is_possible(w, r)
		|| !try(w, r, &trial))
		return;
	w->found[w->n_found++] = *r;
	w->counts->numbers += trial.n_hold;
	w->counts->verdicts[AL_REPRODUCED] += trial.n_hold;
	for (size_t i = 0; i < trial.n_fail; i++)
		name(w, r, &trial, trial.failed[i]);
}

/* ---- all relations ---- */

/* The plainest form first: a column is the first one that holds. */
static void judge_sums(struct within *w, size_t t)
{
	for (int form = SUM; form <= MEAN; form++)
		for (size_t n = 2; n < w->grid.n_columns; n++) {
			if (t >= n)
				judge(w,
					&(struct relation){(enum form)form, t, t - n, t - 1,
						false});
			if (t + n < w->grid.n_columns)
				judge(w,
					&(struct relation){(enum form)form, t, t + 1, t + n,
						false});
		}
}

static void judge_column(struct within *w, size_t t)
{
	if (w->grid.columns[t].span == 0)
		return;
	judge_sums(w, t);
	find_bases(w, t);
	for (int form = 0; form < SUM; form++)
		for (size_t a = 0; a < w->grid.n_columns; a++)
			for (size_t b = 0; b < w->grid.n_columns; b++) {
				if (a == t || b == t || w->grid.columns[a].span == 0)
					continue;
				const bool is_of_base = a == b;
				const bool is_of_two = form == PRODUCT ? b > a : form != INVERSE;
				if (!is_of_base ? !is_of_two
						: form == PRODUCT || form == DIFFERENCE)
					continue;
				judge(w, &(struct relation){(enum form)form, t, a, b, is_of_base});
			}
}

/* What is in brackets is a change: since the row that others refer to, or since another column. */
static void judge_brackets(struct within *w, size_t column)
{
	static const enum form forms[] = {DIFFERENCE, RISE};
	const size_t t = w->grid.n_columns + column;

	if (w->grid.columns[t].span == 0)
		return;
	find_bases(w, t);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		for (size_t k = 0; k < w->grid.n_columns; k++) {
			const size_t b = (column + k) % w->grid.n_columns; /* its own first */
			judge(w, &(struct relation){forms[i], t, column, b, b == column});
		}
}

static void judge_all(struct within *w)
{
	for (size_t t = w->grid.n_columns; t-- > 0;)
		judge_column(w, t);
	for (size_t k = 0; k < w->grid.n_columns; k++)
		judge_brackets(w, k);
}

/* A relation that holds wherever it can be seen goes before one that fails in a row. */
void al_paper_relate(const struct al_paper_sheet *sheet, struct al_paper_findings *out,
	struct al_lint_counts *counts)
{
	enum { LEAST_ROWS = 2, MOST_ROWS = 20000, MOST_COLUMNS = 16 };
	const size_t n_rows = sheet->table->n_rows - sheet->n_heads,
		     n_columns = sheet->table->n_columns;
	AL_ARENA(scratch);
	struct within w = {.out = out, .counts = counts};

	if (n_rows < LEAST_ROWS || n_rows > MOST_ROWS || n_columns > MOST_COLUMNS)
		return;
	al_paper_grid_init(&w.grid, sheet, out->arena, &scratch);
	w.bases = al_new_array(&scratch, size_t, n_rows);
	w.found = al_new_array(&scratch, struct relation, 2 * n_columns);
	w.is_told = al_new_array(&scratch, bool, n_rows);
	for (w.pass = ALL_HOLD; w.pass <= IS_NAMED; w.pass++)
		judge_all(&w);
}
