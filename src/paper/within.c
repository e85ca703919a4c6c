/* Relations within a table, for which no model is needed: a column that is the difference, ratio or
 * product of two others, a multiple of one or what one leaves of a whole, the sum or mean of those
 * next to it, or a share of the row of reference; and rows that are called such a thing, in the
 * table turned. One that holds in nearly all rows is meant, and the row in which it fails is
 * named. */
#include "paper/within.h"

#include "paper/trial.h"
#include "scenario/scenario.h"

enum { LEAST_ROWS = 2, MOST_ROWS = 20000, MOST_TURNED = 200 };
enum { MOST_COLUMNS = 24, MOST_TERMS = 64 };

/* Forms by which a column may be what it is called. */
enum {
	OF_FACTOR = AL_BIT(RATIO) | AL_BIT(INVERSE) | AL_BIT(LARGER) | AL_BIT(PRODUCT),
	OF_PERCENT = AL_BIT(FALL) | AL_BIT(RISE) | AL_BIT(PERCENT) | AL_BIT(DIFFERENCE)
		| AL_BIT(POINTS) | AL_BIT(SHARE),
	OF_NAMED = AL_BIT(POINTS) | AL_BIT(LARGER) | AL_BIT(SHARE), /* forms that only names give */
	OF_NAMED_BASE = OF_NAMED | AL_BIT(DIFFERENCE),
	OF_BASE = AL_BIT(DIFFERENCE) | AL_BIT(POINTS) | AL_BIT(RATIO) | AL_BIT(PERCENT)
		| AL_BIT(FALL) | AL_BIT(RISE) | AL_BIT(INVERSE),
	OF_TWO = (OF_BASE & ~AL_BIT(INVERSE)) | AL_BIT(LARGER) | AL_BIT(PRODUCT),
	OF_LEFT = AL_BIT(RATIO) | AL_BIT(PERCENT) | AL_BIT(FALL) | AL_BIT(INVERSE),
	OF_ONE = AL_BIT(SHARE) | AL_BIT(MULTIPLE) | AL_BIT(RECIPROCAL) | AL_BIT(REST),
};

/* ---- findings ---- */

/* A rise of few percent is a fall of as many, and may be one since another row: what is meant shows
 * in the row that seems to fail. */
static bool is_of_other_form(const struct al_related *w, const struct al_paper_relation *r,
	size_t row)
{
	const struct al_paper_number *t = al_related_at(w, row, r->t);
	struct al_paper_relation other = *r;
	struct al_paper_range range;

	other.has_counts = false;
	for (int i = 0; i < AL_FORM_SHARE * AL_N_BASES && r->form < AL_FORM_SHARE; i++) {
		other.form = (enum al_paper_form)(i % AL_FORM_SHARE);
		other.bases = r->bases ? w->bases.rows[i / AL_FORM_SHARE] : NULL;
		if (al_paper_form_expect(&w->grid, &other, row, &range)
			&& al_related_range(t, &range, t->half))
			return true;
	}
	return false;
}

/* Of a product, a term whose head is "a/b" may be cut off: 100 by 13 is 7. */
static bool is_cut_off(const struct al_related *w, const struct al_paper_relation *r, size_t row)
{
	const size_t terms[] = {r->a, r->b};

	for (int i = 0; i < 2 && r->form == AL_FORM_PRODUCT; i++) {
		const struct al_paper_number *term = al_related_at(w, row, terms[i]);
		const char *name = w->grid.columns[terms[i]].name;
		const double exact = al_related_at(w, row, r->t)->value
			/ al_related_at(w, row, terms[!i])->value;
		if (name && strchr(name, '/') && exact >= term->value
			&& exact < term->value + 2 * term->half)
			return true;
	}
	return false;
}

static void tell(struct al_related *w, const struct al_paper_relation *r,
	const struct al_trial *trial, size_t row)
{
	enum { FAR = 3 };
	const struct al_paper_number *t = al_related_at(w, row, r->t);
	struct al_paper_range range;

	if (w->is_told[row] || *t->is_judged || t->is_marked || is_of_other_form(w, r, row)
		|| is_cut_off(w, r, row) || !al_paper_form_expect(&w->grid, r, row, &range))
		return;
	const double right = (range.low + range.high) / 2;
	/* a fall may be printed as what was won, and of what is measured three roundings differ */
	if (right * t->value < 0
		|| (r->bases && r->has_counts && fabs(right - t->value) < 3 * t->half))
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
static void add_holding(struct al_related *w, const struct al_paper_relation *r)
{
	const double share = al_paper_form_slack(&w->grid, r);
	struct al_paper_range range;

	for (size_t i = 0; i < w->grid.n_rows; i++) {
		const struct al_paper_number *t = al_related_at(w, i, r->t);
		if (!al_related_expect(w, r, i, &range)
			|| !al_related_range(t, &range, share * t->half) || *t->is_judged)
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
static bool is_known(const struct al_related *w, const struct al_paper_relation *r)
{
	for (size_t i = 0; i < w->n_found; i++)
		if (al_paper_form_is_source(&w->found[i], r->t)
			&& al_paper_form_is_source(r, w->found[i].t))
			return true;
	return w->is_found[r->t];
}

/* Is there a source without decimals, and none of small numbers, which would be rounded by much? */
static bool may_be_rounded(const struct al_related *w, const struct al_paper_relation *r)
{
	enum { SMALL = 12 };
	double least = INFINITY;

	for (size_t k = 0; k < w->grid.n_columns; k++)
		if (al_paper_form_is_source(r, k) && w->grid.columns[k].is_integral)
			least = fmin(least, w->grid.columns[k].least);
	return least >= SMALL && isfinite(least);
}

/* Without decimals, numbers may be counts or rounded; a factor may be that of any but one row. */
static bool try_all(const struct al_related *w, struct al_paper_relation *r, struct al_trial *out)
{
	for (int i = 0; i < 4; i++) {
		r->has_counts = i < 2;
		if (i == 2 && !may_be_rounded(w, r))
			return false;
		if ((al_paper_form_has_factor(r) ? al_paper_form_fit(&w->grid, r, i & 1) : !(i & 1))
			&& al_related_try(w, r, out))
			return true;
	}
	return false;
}

static void judge(struct al_related *w, struct al_paper_relation r)
{
	const bool is_named = w->named >> r.form & 1;
	const bool needs_name = w->pass == AL_PASS_IS_NAMED || r.base
		|| (w->grid.is_turned && r.form != AL_FORM_REST)
		|| (AL_BIT_OF(r.form) & (r.bases ? OF_NAMED_BASE : OF_NAMED));
	struct al_trial trial;

	/* what has a sign rises or falls by it, unless nothing else is meant */
	if ((r.form == AL_FORM_FALL && w->grid.columns[r.t].has_signs
		    && w->pass != AL_PASS_IS_NAMED)
		|| is_known(w, &r) || (needs_name && !is_named)
		|| !al_paper_form_is_possible(&w->grid, &r, is_named) || !try_all(w, &r, &trial))
		return;
	w->found[w->n_found++] = r;
	w->is_found[r.t] = true;
	add_holding(w, &r);
	/* a format that a name tells may have scales or none */
	for (size_t i = 0; w->pass == AL_PASS_MAY_FAIL && !r.left && i < trial.n_fail; i++)
		tell(w, &r, &trial, trial.failed[i]);
}

/* ---- all relations ---- */

/* What the column is by its name, or by the signs and units of its numbers. */
static unsigned forms_of(const struct al_related *w, size_t t)
{
	static const unsigned forms[] = {
		[AL_MEANS_SUM] = AL_BIT(SUM),
		[AL_MEANS_MEAN] = AL_BIT(MEAN),
		[AL_MEANS_CHANGE] = OF_FACTOR | AL_BIT(DIFFERENCE) | AL_BIT(POINTS) | AL_BIT(FALL)
			| AL_BIT(RISE),
		[AL_MEANS_RATIO] = OF_FACTOR | AL_BIT(PERCENT) | AL_BIT(FALL) | AL_BIT(RISE),
	};
	static const char *const points[] = {"pp", "points", "pts"};
	const struct al_paper_grid_column *column = &w->grid.columns[t];
	const enum al_meaning meaning = column->name
		? al_paper_grid_relation(&w->grid, column->name, w->grid.is_turned)
		: AL_MEANS_NOTHING;
	const bool is_change = meaning == AL_MEANS_CHANGE || meaning == AL_MEANS_RATIO;

	if (strcmp(column->unit, "x") == 0 && meaning != AL_MEANS_MEAN)
		return OF_FACTOR;
	if (al_find_name(column->unit, points, 3) >= 0)
		return AL_BIT(DIFFERENCE) | AL_BIT(POINTS);
	if (*column->unit == '%'
		&& (is_change
			|| (meaning == AL_MEANS_NOTHING
				&& (column->has_signs || column->most > 100
					|| t >= w->grid.n_columns))))
		return OF_PERCENT;
	if (meaning == AL_MEANS_NOTHING)
		return column->has_signs			     ? AL_BIT(DIFFERENCE)
			: *column->unit == '%' && !w->grid.is_turned ? AL_BIT(SHARE)
								     : 0;
	return forms[meaning];
}

/* The longest first: some of the terms may have the same mean by chance. What is further away, or a
 * mean in front of its terms, has to be called so. */
static void judge_sums(struct al_related *w, struct al_paper_relation r)
{
	for (size_t n = w->grid.n_columns - 1; n > 1; n--)
		for (r.a = 0; r.a + n <= w->grid.n_columns; r.a++) {
			r.b = r.a + n - 1;
			r.omitted = NULL;
			const bool is_next = r.b + 1 == r.t
				|| (r.a == r.t + 1
					&& (r.form == AL_FORM_SUM || w->named >> r.form & 1));
			if ((r.a <= r.t && r.t <= r.b) || (!is_next && w->pass != AL_PASS_IS_NAMED))
				continue;
			judge(w, r);
			r.omitted = w->is_aggregate;
			if (memchr(w->is_aggregate + r.a, true, n))
				judge(w, r);
		}
}

/* "13B" and "4-bit weights" in front of a row are its name. */
static bool is_label(const struct al_related *w, size_t column)
{
	return column == 0 && !w->grid.is_turned && *w->grid.columns[0].unit;
}

static void judge_of_bases(struct al_related *w, struct al_paper_relation r)
{
	const size_t first = w->bases.is_sure[AL_BASE_IN_HEAD] ? AL_BASE_IN_HEAD : AL_BASE_MARKED,
		     end = w->named >> r.form & 1 ? AL_N_BASES : AL_BASE_LABELLED;

	r.base = w->bases.given.half > 0 ? &w->bases.given : NULL;
	if (r.base)
		judge(w, r);
	r.base = NULL;
	for (size_t i = first; i < end; i++) {
		bool is_new = true;
		r.bases = w->bases.rows[i];
		r.is_sure = w->bases.is_sure[i];
		for (size_t k = first; k < i; k++)
			is_new &= memcmp(w->bases.rows[k], r.bases, w->grid.n_rows * sizeof(size_t))
				!= 0;
		r.unlikely = i == AL_BASE_BEFORE ? 1 : 0;
		if (is_new)
			judge(w, r);
	}
}

/* What the names of rows leave, of 16 bits or of 32. */
static void judge_left(struct al_related *w, struct al_paper_relation r)
{
	static const struct al_paper_number bits[] = {{.value = 16,
							      .half = 1e-9,
							      .text = "16 bits"},
		{.value = 32, .half = 1e-9, .text = "32 bits"}};

	for (size_t i = 0; i < 2 * AL_LEFT_READINGS; i++) {
		r.left = w->left[i / 2];
		r.base = &bits[i % 2];
		r.unlikely = i % 2 ? 1 : 0;
		judge(w, r);
	}
}

/* The percentage that "7/20" is, or the 13 that are left. */
static void judge_of_pair(struct al_related *w, struct al_paper_relation r)
{
	const size_t first = r.a, second = r.a + w->grid.n_columns;
	const unsigned named = w->named;

	r.a = r.form == AL_FORM_PERCENT ? first : second;
	r.b = first + second - r.a;
	w->named |= AL_BIT(PERCENT);
	if (isfinite(w->grid.columns[second].least) && w->grid.columns[second].is_whole)
		judge(w, r);
	w->named = named;
}

/* What is in brackets is a change: since the row that others refer to, or of its own column's
 * number since another column's; or made of what is in other brackets. */
static void judge_sources(struct al_related *w, struct al_paper_relation r)
{
	const unsigned form = AL_BIT_OF(r.form);
	const size_t n = w->grid.n_columns, own = r.t < n ? 0 : r.t - n;
	const bool has_order = form & (AL_BIT(LARGER) | AL_BIT(PRODUCT)) && r.t < n;

	for (size_t k = 0; k < (r.t < n ? n : 2 * n); k++) {
		const size_t first = k < n ? 0 : n;
		r.a = r.b = k < n ? (own + k) % n : k;
		const struct al_paper_grid_column *a = &w->grid.columns[r.a];
		if (!al_related_may_be_source(w, r.a, r.t, form)
			|| (a->span == 0 && w->pass != AL_PASS_IS_NAMED))
			continue;
		if (form & OF_BASE && a->span > 0 && k < n && !is_label(w, r.a))
			judge_of_bases(w, r);
		if (r.t >= n && k > 0 && k < n)
			continue;
		if (form & OF_ONE && (r.form == AL_FORM_REST || a->most > 1.5 * a->least))
			judge(w, r);
		if (form & (AL_BIT(PERCENT) | AL_BIT(DIFFERENCE)) && r.t < n)
			judge_of_pair(w, r);
		for (r.b = has_order ? r.a + 1 : first; form & OF_TWO && r.b < first + n; r.b++)
			if (r.b != r.a && al_related_may_be_source(w, r.b, r.t, form))
				judge(w, r);
	}
}

static void judge_column(struct al_related *w, size_t t)
{
	struct al_paper_relation r = {.form = AL_FORM_SUM, .t = t};
	const bool is_inner = t >= w->grid.n_columns;

	for (; !is_inner && r.form <= AL_FORM_MEAN; r.form++)
		judge_sums(w, r);
	const int end = is_inner ? AL_FORM_PRODUCT : AL_FORM_SUM;
	for (int form = 0; form < end && w->grid.n_columns <= MOST_COLUMNS; form++) {
		r.form = (enum al_paper_form)form;
		judge_sources(w, r);
		if (AL_BIT_OF(form) & OF_LEFT)
			judge_left(w, r);
	}
}

static void judge_all(struct al_related *w)
{
	for (size_t k = 2 * w->grid.n_columns; k-- > 0;) {
		const size_t t = k < w->grid.n_columns ? k : 3 * w->grid.n_columns - 1 - k;
		w->named = w->forms[t];
		const bool is_wanted = w->named || w->pass != AL_PASS_IS_NAMED;
		if (!is_wanted || is_label(w, t) || (w->grid.columns[t].span == 0 && !w->named))
			continue;
		al_paper_bases_look(&w->bases, &w->grid, t);
		judge_column(w, t);
	}
}

static void relate(const struct al_paper_sheet *sheet, bool is_turned,
	struct al_paper_findings *out, struct al_lint_counts *counts)
{
	struct al_related related = {.out = out, .counts = counts}, *w = &related;
	AL_ARENA(scratch);

	al_paper_grid_init(&w->grid, sheet, is_turned, w->out->arena, &scratch);
	al_paper_bases_init(&w->bases, &w->grid, &scratch);
	for (int i = 0; i < AL_LEFT_READINGS; i++) {
		w->left[i] = al_new_array(&scratch, struct al_paper_number, w->grid.n_rows);
		al_paper_left_read(w->left[i], &w->grid, i);
	}
	w->found = al_new_array(&scratch, struct al_paper_relation, 2 * w->grid.n_columns);
	w->is_found = al_new_array(&scratch, bool, 2 * w->grid.n_columns);
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
	for (w->pass = AL_PASS_ALL_HOLD; w->pass <= AL_PASS_IS_NAMED; w->pass++)
		judge_all(w);
}

/* A relation that holds wherever it can be seen goes before one that fails in a row. */
void al_paper_relate(const struct al_paper_sheet *sheet, struct al_paper_findings *out,
	struct al_lint_counts *counts)
{
	const size_t n_rows = sheet->table->n_rows - sheet->n_heads,
		     n_columns = sheet->table->n_columns;

	if (n_rows < LEAST_ROWS || n_rows > MOST_ROWS || n_columns > MOST_TERMS)
		return;
	relate(sheet, false, out, counts);
	if (n_rows <= MOST_TURNED)
		relate(sheet, true, out, counts);
}
