/* Relations within a table, for which no model is needed: a column that is the difference, ratio or
 * product of two others, a multiple of one, the sum or mean of those next to it, or a share of the
 * row of reference; and rows that are called such a thing, in the table turned. One that holds in
 * nearly all rows is meant, and the row in which it fails is named. */
#include "paper/within.h"

#include "paper/form.h"
#include "scenario/scenario.h"

/* Which row others refer to: one that the column's head names, or that it marks; one with a
 * baseline's label; the first of a group; the last. */
enum { IN_HEAD, MARKED, LABELLED, OF_GROUP, LAST, N_BASES };

enum { LEAST_ROWS = 2, MOST_ROWS = 20000, MOST_TURNED = 200 };
enum { MOST_COLUMNS = 24, MOST_TERMS = 64 };

/* Forms by which a column may be what it is called. */
#define BIT_OF(form) (1u << (form))
#define BIT(form) BIT_OF(AL_FORM_##form)
enum {
	OF_FACTOR = BIT(RATIO) | BIT(INVERSE) | BIT(LARGER) | BIT(PRODUCT),
	OF_PERCENT = BIT(FALL) | BIT(RISE) | BIT(PERCENT) | BIT(DIFFERENCE) | BIT(POINTS)
		| BIT(SHARE),
	OF_NAMED = BIT(POINTS) | BIT(LARGER) | BIT(SHARE), /* forms that only names give */
	OF_NAMED_BASE = OF_NAMED | BIT(DIFFERENCE),
	OF_BASE = BIT(DIFFERENCE) | BIT(POINTS) | BIT(RATIO) | BIT(PERCENT) | BIT(FALL) | BIT(RISE)
		| BIT(INVERSE),
	OF_TWO = (OF_BASE & ~BIT(INVERSE)) | BIT(LARGER) | BIT(PRODUCT),
	OF_ONE = BIT(SHARE) | BIT(MULTIPLE) | BIT(RECIPROCAL),
};

struct within {
	struct al_paper_grid grid;
	size_t *bases[N_BASES]; /* [n_rows]: rows of reference */
	bool is_sure[N_BASES]; /* by the column that is looked at */
	struct al_paper_number base; /* that its head gives */
	bool *is_told; /* [n_rows]: a finding has the row */
	bool *is_aggregate; /* [n_columns]: called a sum or a mean */
	unsigned *forms, named; /* [2 n_columns]: that a column's name or unit allows, 0: it has
				   none; those of the one that is looked at */
	struct al_paper_relation *found; /* [2 n_columns] */
	size_t n_found;
	bool *is_found; /* [2 n_columns] */
	enum pass {
		ALL_HOLD,
		MAY_FAIL, /* in a row, or two */
		IS_NAMED, /* by the head, in all rows */
	} pass;
	struct al_paper_findings *out;
	struct al_lint_counts *counts;
};

static const struct al_paper_number *at(const struct within *w, size_t row, size_t column)
{
	return al_paper_grid_at(&w->grid, row, column);
}

/* ---- rows of reference ---- */

/* "1.0x", "100%", "0%", a dash: the row to which others refer. 1 alone is a number as any. */
static bool is_mark(const struct al_paper_number *n)
{
	static const char *const dashes[] = {"\u2013", "\u2014", "\u00b10"};
	const char *text = n->text ? n->text : "";

	if (n->half > 0)
		return (n->digits > 0 || strpbrk(text, "x%")) && (n->value == 1 || n->value == 100);
	return !text[strspn(text, "-+0.%")] || al_paper_is_baseline(text)
		|| al_find_name(text, dashes, sizeof(dashes) / sizeof(*dashes)) >= 0;
}

/* The marked row before each; the last one for all where no other is marked; else the first row
 * before the marked ones. */
static void find_marked(struct within *w, size_t column)
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
		w->bases[MARKED][i] = base;
	}
	w->is_sure[MARKED] = n == 1;
}

/* "vs q8_0": the row of this label. */
static void find_named(struct within *w, size_t column)
{
	const char *name = column < w->grid.n_columns ? w->grid.columns[column].name : "";
	const char *head = al_paper_normal(w->grid.arena, name);
	size_t found = 0, longest = 1;

	w->base = al_paper_grid_base(&w->grid, name);
	for (size_t i = 0; i < w->grid.n_rows; i++) {
		const char *label = al_paper_normal(w->grid.arena, w->grid.labels[i]);
		if (strlen(label) > longest && strstr(head, label)) {
			found = i;
			longest = strlen(label);
		}
	}
	w->is_sure[IN_HEAD] = longest > 1;
	for (size_t i = 0; i < w->grid.n_rows; i++)
		w->bases[IN_HEAD][i] = found;
}

/* The first row with a base's label; the first one of each label, for those below it that have the
 * same or none; the last one. */
static void find_bases(struct within *w)
{
	const size_t n = w->grid.n_rows;
	size_t labelled = n - 1, group = 0;

	for (size_t i = n; i-- > 0;)
		labelled = al_paper_is_baseline(w->grid.labels[i]) && *w->grid.labels[i] ? i
											 : labelled;
	for (size_t i = 0; i < n; i++) {
		const char *label = w->grid.labels[i];
		group = *label && strcmp(label, w->grid.labels[group]) != 0 ? i : group;
		w->bases[LABELLED][i] = labelled;
		w->bases[OF_GROUP][i] = group;
		w->bases[LAST][i] = n - 1;
	}
}

/* Others follow from numbers that aren't changes or factors themselves; factors from changes,
 * too. */
static bool may_be_source(const struct within *w, size_t column, size_t t, unsigned form)
{
	const struct al_paper_grid_column *c = &w->grid.columns[column], *to = &w->grid.columns[t];
	const bool is_factor = strcmp(c->unit, "x") == 0, is_of_factor = strcmp(to->unit, "x") == 0;
	const bool is_change = c->has_signs || (*c->unit == '%' && w->forms[column] & ~BIT(SHARE));

	return isfinite(w->grid.columns[column].least) && column != t
		&& is_factor == (form == BIT(PRODUCT) && is_of_factor)
		&& (is_of_factor || !is_change);
}

/* ---- judging ---- */

struct trial {
	size_t n_hold, n_near, n_fail, failed[2]; /* near: cut off instead of rounded, perhaps */
	double digits; /* that chance would have had to hit */
};

static bool is_within(const struct al_paper_number *t, const struct al_paper_range *range,
	double slack)
{
	slack += 1e-9 * fabs(t->value);
	return t->value >= range->low - slack && t->value <= range->high + slack;
}

/* A number that is the first of the others again shows no relation, nor does the mean of equal
 * ones. */
static bool is_repeated(const struct within *w, const struct al_paper_relation *r, size_t row)
{
	const struct al_paper_number *t = at(w, row, r->t);

	if (r->form == AL_FORM_SUM)
		return false;
	for (size_t k = r->a; k <= (r->form == AL_FORM_MEAN ? r->b : r->a); k++)
		if (al_paper_form_is_source(r, k)
			&& fabs(t->value - at(w, row, k)->value)
				> fmax(t->half, at(w, row, k)->half))
			return false;
	return true;
}

/* The number of the row, and what it is expected to be; false: nothing is. A drop from a base, or
 * one in brackets, may be printed without its sign. */
static bool expect(const struct within *w, const struct al_paper_relation *r, size_t row,
	struct al_paper_range *range)
{
	const struct al_paper_number *t = at(w, row, r->t);

	if (t->half == 0 || !al_paper_form_expect(&w->grid, r, row, range)
		|| is_repeated(w, r, row))
		return false;
	if ((r->t >= w->grid.n_columns || (r->bases && w->named)) && r->form == AL_FORM_DIFFERENCE
		&& range->high < 0 && !w->grid.columns[r->t].has_signs)
		*range = (struct al_paper_range){-range->high, -range->low};
	return true;
}

static double digits_of(const struct within *w, const struct al_paper_relation *r, size_t row,
	const struct al_paper_range *range, bool is_named)
{
	const double half = at(w, row, r->t)->half;
	const double free = al_paper_form_spread(&w->grid, r, row, range, is_named)
		+ (is_named ? 1e-300 : 2 * half);

	return -log10(fmin((range->high - range->low + 2 * half) / free, 1));
}

/* Relations of columns as near as these, of sources that have no relation themselves. */
static double n_candidates(const struct within *w, const struct al_paper_relation *r)
{
	const size_t t = r->t % w->grid.n_columns, a = r->a > t ? r->a - t : t - r->a,
		     b = r->b > t ? r->b - t : t - r->b, most = a > b ? a : b;
	double n = 0;

	for (size_t k = 0; k < w->grid.n_columns; k++) {
		const size_t far = k > t ? k - t : t - k;
		n += far <= most && !w->is_found[k] && may_be_source(w, k, r->t, BIT_OF(r->form));
	}
	return r->form >= AL_FORM_SUM ? fmax(1, n) : fmax(1, n * (n + 1) / 2);
}

static bool is_enough(const struct within *w, const struct al_paper_relation *r,
	const struct trial *trial)
{
	const double columns = log10((double)w->grid.n_columns);
	const size_t most = w->pass != MAY_FAIL ? 0 : trial->n_hold + trial->n_fail >= 10 ? 2 : 1;

	if (w->pass == IS_NAMED)
		return trial->n_hold > 0 && 4 * trial->n_near < trial->n_hold + 1
			&& trial->n_fail == 0
			&& trial->digits >= (r->is_sure ? 0.6 : 0.9) + log10(n_candidates(w, r));
	return trial->n_hold >= 4 && 3 * trial->n_near <= trial->n_hold && trial->n_fail <= most
		&& trial->digits >= 0.4 * (double)trial->n_hold
		&& trial->digits >= (al_paper_form_has_factor(r) ? 3 + columns
				   : w->named >> r->form & 1	 ? 3 + 2 * columns
								 : 4 + 3 * columns);
}

/* A value again is no more evidence of what is named, and a factor takes one row to be known. */
static bool try(const struct within *w, const struct al_paper_relation *r, struct trial *out)
{
	const double share = al_paper_form_slack(&w->grid, r);
	const bool is_multiple = r->form == AL_FORM_MULTIPLE || r->form == AL_FORM_RECIPROCAL,
		   is_named = w->named >> r->form & 1 || is_multiple;
	double last = NAN, most = 0;

	*out = (struct trial){0};
	for (size_t i = 0; i < w->grid.n_rows; i++) {
		const struct al_paper_number *t = at(w, i, r->t);
		struct al_paper_range range;
		if (w->grid.is_summary[i] || !expect(w, r, i, &range))
			continue;
		if (is_within(t, &range, share * t->half)) {
			double digits = is_multiple ? 0 : digits_of(w, r, i, &range, false);
			if (is_named && t->value != last)
				digits = fmax(digits, digits_of(w, r, i, &range, true));
			out->n_hold++;
			out->digits += digits;
			most = fmax(most, digits);
			last = t->value;
		} else if (is_within(t, &range, share * 2 * t->half))
			out->n_near++;
		else if (out->n_fail < 2)
			out->failed[out->n_fail++] = i;
		else
			return false;
	}
	out->digits -= is_multiple ? most : 0;
	return is_enough(w, r, out);
}

/* ---- findings ---- */

/* A rise of few percent is a fall of as many: what is meant shows in the row that seems to fail. */
static bool is_of_other_form(const struct within *w, const struct al_paper_relation *r, size_t row)
{
	const struct al_paper_number *t = at(w, row, r->t);
	struct al_paper_relation other = *r;
	struct al_paper_range range;

	other.has_counts = false;
	for (int form = 0; form < AL_FORM_SHARE && r->form < AL_FORM_SHARE; form++) {
		other.form = (enum al_paper_form)form;
		if (al_paper_form_expect(&w->grid, &other, row, &range)
			&& is_within(t, &range, t->half))
			return true;
	}
	return false;
}

/* Of a product, a term whose head is "a/b" may be cut off: 100 by 13 is 7. */
static bool is_cut_off(const struct within *w, const struct al_paper_relation *r, size_t row)
{
	const size_t terms[] = {r->a, r->b};

	for (int i = 0; i < 2 && r->form == AL_FORM_PRODUCT && !r->bases && !r->base; i++) {
		const struct al_paper_number *term = at(w, row, terms[i]);
		const char *name = w->grid.columns[terms[i]].name;
		const double exact = at(w, row, r->t)->value / at(w, row, terms[!i])->value;
		if (name && strchr(name, '/') && exact >= term->value
			&& exact < term->value + 2 * term->half)
			return true;
	}
	return false;
}

static void tell(struct within *w, const struct al_paper_relation *r, const struct trial *trial,
	size_t row)
{
	enum { FAR = 3 };
	const struct al_paper_number *t = at(w, row, r->t);
	struct al_paper_range range;

	if (w->is_told[row] || *t->is_judged || is_of_other_form(w, r, row) || is_cut_off(w, r, row)
		|| !al_paper_form_expect(&w->grid, r, row, &range))
		return;
	const double right = (range.low + range.high) / 2;
	if (right * t->value < 0) /* a fall may be printed as what was won */
		return;
	const struct al_paper_suspect suspect = {.printed = t->text,
		.value = fabs(t->value),
		.right = fabs(right),
		.half = t->half,
		.digits = t->digits};
	/* What is far off is of something else, and what is measured only nearly a multiple or a
	 * product. */
	if ((suspect.value > FAR * suspect.right || FAR * suspect.value < suspect.right
		    || al_paper_form_has_factor(r) || r->form == AL_FORM_PRODUCT)
		&& !al_paper_is_digit_slip(w->grid.arena, &suspect))
		return;
	w->is_told[row] = *t->is_judged = true;
	al_paper_add_wrong(w->out, w->counts, &suspect,
		&(struct al_paper_finding){.line = t->line,
			.expected = al_format(w->grid.arena, "%.*f", t->digits + 1, right),
			.derivation = al_format(w->grid.arena, "%s, as in %zu other %s",
				al_paper_form_text(&w->grid, r, row), trial->n_hold,
				w->grid.is_turned ? "columns" : "rows")});
}

/* What sums up other rows is counted where it follows. */
static void add_holding(struct within *w, const struct al_paper_relation *r)
{
	const double share = al_paper_form_slack(&w->grid, r);
	struct al_paper_range range;

	for (size_t i = 0; i < w->grid.n_rows; i++) {
		const struct al_paper_number *t = at(w, i, r->t);
		if (!expect(w, r, i, &range) || !is_within(t, &range, share * t->half)
			|| *t->is_judged)
			continue;
		*t->is_judged = true;
		al_paper_findings_add(w->out,
			(struct al_paper_finding){.line = t->line,
				.printed = t->text,
				.verdict = al_verdict_names[AL_REPRODUCED],
				.note = al_paper_form_text(&w->grid, r, i)});
		w->counts->numbers++;
		w->counts->verdicts[AL_REPRODUCED]++;
	}
}

/* The column has a relation, or is in this one: a = t + b is t = a - b again. */
static bool is_known(const struct within *w, const struct al_paper_relation *r)
{
	for (size_t i = 0; i < w->n_found; i++)
		if (al_paper_form_is_source(&w->found[i], r->t)
			&& al_paper_form_is_source(r, w->found[i].t))
			return true;
	return w->is_found[r->t];
}

/* Is there a source without decimals, and none of small numbers, which would be rounded by much? */
static bool may_be_rounded(const struct within *w, const struct al_paper_relation *r)
{
	enum { SMALL = 12 };
	double least = INFINITY;

	for (size_t k = 0; k < w->grid.n_columns; k++)
		if (al_paper_form_is_source(r, k) && w->grid.columns[k].is_integral)
			least = fmin(least, w->grid.columns[k].least);
	return least >= SMALL && isfinite(least);
}

/* Without decimals, numbers may be counts or rounded; a factor may be that of any but one row. */
static bool try_all(const struct within *w, struct al_paper_relation *r, struct trial *out)
{
	for (int i = 0; i < 4; i++) {
		r->has_counts = i < 2;
		if (i == 2 && !may_be_rounded(w, r))
			return false;
		if ((al_paper_form_has_factor(r) ? al_paper_form_fit(&w->grid, r, i & 1) : !(i & 1))
			&& try(w, r, out))
			return true;
	}
	return false;
}

static void judge(struct within *w, struct al_paper_relation r)
{
	const bool is_named = w->named >> r.form & 1;
	const bool needs_name = w->pass == IS_NAMED || w->grid.is_turned || r.base
		|| (BIT_OF(r.form) & (r.bases ? OF_NAMED_BASE : OF_NAMED));
	struct trial trial;

	/* what has a sign rises or falls by it */
	if ((r.form == AL_FORM_FALL && w->grid.columns[r.t].has_signs) || is_known(w, &r)
		|| (needs_name && !is_named) || !al_paper_form_is_possible(&w->grid, &r, is_named)
		|| !try_all(w, &r, &trial))
		return;
	w->found[w->n_found++] = r;
	w->is_found[r.t] = true;
	add_holding(w, &r);
	for (size_t i = 0; i < trial.n_fail; i++)
		tell(w, &r, &trial, trial.failed[i]);
}

/* ---- all relations ---- */

/* What the column is by its name, or by the signs and units of its numbers. */
static unsigned forms_of(const struct within *w, size_t t)
{
	static const unsigned forms[] = {
		[AL_MEANS_SUM] = BIT(SUM),
		[AL_MEANS_MEAN] = BIT(MEAN),
		[AL_MEANS_CHANGE] = OF_FACTOR | BIT(DIFFERENCE) | BIT(FALL) | BIT(RISE),
		[AL_MEANS_RATIO] = OF_FACTOR | BIT(PERCENT) | BIT(FALL) | BIT(RISE),
	};
	const struct al_paper_grid_column *column = &w->grid.columns[t];
	const enum al_meaning meaning = column->name
		? al_paper_grid_relation(&w->grid, column->name, w->grid.is_turned)
		: AL_MEANS_NOTHING;
	const bool is_change = meaning == AL_MEANS_CHANGE || meaning == AL_MEANS_RATIO;

	if (w->grid.is_turned && meaning == AL_MEANS_NOTHING)
		return 0;
	if (strcmp(column->unit, "x") == 0 && (is_change || meaning == AL_MEANS_NOTHING))
		return OF_FACTOR;
	if (*column->unit == '%'
		&& (is_change || (meaning == AL_MEANS_NOTHING && column->has_signs)))
		return OF_PERCENT;
	if (meaning == AL_MEANS_NOTHING)
		return column->has_signs ? BIT(DIFFERENCE) : *column->unit == '%' ? BIT(SHARE) : 0;
	return forms[meaning];
}

static void judge_terms(struct within *w, struct al_paper_relation r)
{
	judge(w, r);
	r.omitted = w->is_aggregate;
	if (memchr(w->is_aggregate + r.a, true, r.b - r.a + 1))
		judge(w, r);
}

/* The plainest form first: a column is the first one that holds. */
static void judge_sums(struct within *w, struct al_paper_relation r)
{
	const size_t end = w->grid.n_columns;

	for (size_t n = 2; n < end; n++) {
		r.a = r.t - n;
		r.b = r.t - 1;
		if (r.t >= n)
			judge_terms(w, r);
		r.a = r.t + 1;
		r.b = r.t + n;
		if (r.b < end)
			judge_terms(w, r);
	}
}

static void judge_of_bases(struct within *w, struct al_paper_relation r)
{
	const size_t first = w->is_sure[IN_HEAD] ? IN_HEAD : MARKED,
		     end = w->named >> r.form & 1 ? N_BASES : LABELLED;

	for (size_t i = first; i < end; i++) {
		bool is_new = true;
		r.bases = w->bases[i];
		r.is_sure = w->is_sure[i];
		for (size_t k = first; k < i; k++)
			is_new &= memcmp(w->bases[k], r.bases, w->grid.n_rows * sizeof(size_t))
				!= 0;
		if (is_new)
			judge(w, r);
	}
	static const struct al_paper_number bits = {16, 1e-9, 0, "16 bits", NULL, 0};
	const bool is_of_bits = !w->grid.is_turned && r.form == AL_FORM_INVERSE
		&& w->grid.sheet->heads[r.a].meaning == AL_MEANS_FORMAT;
	r.bases = NULL;
	r.is_sure = is_of_bits;
	r.base = w->base.half > 0 ? &w->base : &bits;
	if (w->base.half > 0 || is_of_bits)
		judge(w, r);
}

static void judge_sources(struct within *w, struct al_paper_relation r)
{
	const unsigned form = BIT_OF(r.form);
	const bool has_order = form & (BIT(LARGER) | BIT(PRODUCT));

	for (r.a = 0; r.a < w->grid.n_columns; r.a++) {
		const struct al_paper_grid_column *a = &w->grid.columns[r.a];
		if (!may_be_source(w, r.a, r.t, form) || a->span == 0)
			continue;
		r.b = r.a;
		if (form & OF_BASE)
			judge_of_bases(w, r);
		if (form & OF_ONE && a->most > 1.5 * a->least)
			judge(w, r);
		for (r.b = has_order ? r.a + 1 : 0; form & OF_TWO && r.b < w->grid.n_columns; r.b++)
			if (r.b != r.a && may_be_source(w, r.b, r.t, form))
				judge(w, r);
	}
}

static void judge_column(struct within *w, size_t t)
{
	struct al_paper_relation r = {.form = AL_FORM_SUM, .t = t};

	judge_sums(w, r);
	r.form = AL_FORM_MEAN;
	judge_sums(w, r);
	for (int form = 0; form < AL_FORM_SUM && w->grid.n_columns <= MOST_COLUMNS; form++) {
		r.form = (enum al_paper_form)form;
		judge_sources(w, r);
	}
}

/* What is in brackets is a change: since the row that others refer to, or since another column. */
static void judge_brackets(struct within *w, size_t t)
{
	struct al_paper_relation r = {.t = t, .a = t - w->grid.n_columns};

	for (int form = 0; form < AL_FORM_PRODUCT; form++) {
		r.form = (enum al_paper_form)form;
		r.b = r.a;
		if (BIT_OF(form) & OF_BASE)
			judge_of_bases(w, r);
		for (size_t k = 1; BIT_OF(form) & OF_TWO && k < w->grid.n_columns; k++) {
			r.b = (r.a + k) % w->grid.n_columns; /* its own first */
			if (isfinite(w->grid.columns[r.b].least))
				judge(w, r);
		}
	}
}

static void judge_all(struct within *w)
{
	for (size_t k = 2 * w->grid.n_columns; k-- > 0;) {
		const size_t t = k < w->grid.n_columns ? k : 3 * w->grid.n_columns - 1 - k;
		w->named = w->forms[t];
		const bool is_wanted = w->named || (w->pass != IS_NAMED && !w->grid.is_turned);
		if (!is_wanted || !isfinite(w->grid.columns[t].least)
			|| (w->grid.columns[t].span == 0 && !w->named))
			continue;
		find_marked(w, t);
		find_named(w, t);
		if (t < w->grid.n_columns)
			judge_column(w, t);
		else
			judge_brackets(w, t);
	}
}

static void relate(struct within *w, const struct al_paper_sheet *sheet, bool is_turned)
{
	AL_ARENA(scratch);

	al_paper_grid_init(&w->grid, sheet, is_turned, w->out->arena, &scratch);
	for (size_t i = 0; i < N_BASES; i++)
		w->bases[i] = al_new_array(&scratch, size_t, w->grid.n_rows);
	w->found = al_new_array(&scratch, struct al_paper_relation, 2 * w->grid.n_columns);
	w->is_found = al_new_array(&scratch, bool, 2 * w->grid.n_columns);
	w->n_found = 0;
	w->is_told = al_new_array(&scratch, bool, w->grid.n_rows);
	w->is_aggregate = al_new_array(&scratch, bool, w->grid.n_columns);
	for (size_t k = 0; k < w->grid.n_columns; k++) {
		const enum al_meaning meaning = al_paper_grid_relation(&w->grid,
			w->grid.columns[k].name, is_turned);
		w->is_aggregate[k] = meaning == AL_MEANS_SUM || meaning == AL_MEANS_MEAN;
	}
	w->forms = al_new_array(&scratch, unsigned, 2 * w->grid.n_columns);
	for (size_t k = 0; k < 2 * w->grid.n_columns; k++)
		w->forms[k] = forms_of(w, k);
	find_bases(w);
	for (w->pass = ALL_HOLD; w->pass <= IS_NAMED; w->pass++)
		judge_all(w);
}

/* A relation that holds wherever it can be seen goes before one that fails in a row. */
void al_paper_relate(const struct al_paper_sheet *sheet, struct al_paper_findings *out,
	struct al_lint_counts *counts)
{
	const size_t n_rows = sheet->table->n_rows - sheet->n_heads,
		     n_columns = sheet->table->n_columns;
	struct within w = {.out = out, .counts = counts};

	if (n_rows < LEAST_ROWS || n_rows > MOST_ROWS || n_columns > MOST_TERMS)
		return;
	relate(&w, sheet, false);
	if (n_rows <= MOST_TURNED)
		relate(&w, sheet, true);
}
