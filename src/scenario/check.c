/* Claims: a printed number against what the scenario gives.
 *
 * The value is computed at the point values of the data that it uses; where that isn't what is
 * printed, their box is searched for one that would be printed so. */
#include "scenario/verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "scenario/units.h"

const char *const al_verdict_names[AL_N_VERDICTS] = {"reproduced", "consistent", "inconsistent",
	"underivable"};

/* ---- a row of the answer ---- */

enum { C_SCENARIO, C_ID, C_KIND, C_WHERE, C_PRINTED, C_VALUE, C_LOW, C_HIGH, C_VERDICT, C_NOTE };

void al_check_table_init(struct al_table *table)
{
	static const char *const keys[] = {"scenario", "id", "kind", "where", "printed", "value",
		"low", "high", "verdict", "note"};

	al_table_init(table, "check", "Claims and verdicts");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		al_table_add_column(table,
			(struct al_column){.key = keys[i],
				.digits = AL_DIGITS_ALL,
				.is_key = i == C_ID});
}

enum { FRACTION_DIGITS = 2 }; /* of 2/3, which has none of its own */

/* What is found of a claim, and the row of the answer that tells it. */
struct judgement {
	const struct al_claim *claim;
	struct al_table *table;
	struct al_cell *row;
	enum al_verdict verdict;
	bool is_equality; /* a number that holds: reproduced or consistent */
	bool is_indifferent; /* it would hold too with the last digit one more */
	const struct judgement *held_by; /* the first of its readings that holds, or NULL */
};

/* What a reader asks of a claim that the value, in the printed unit, does not reproduce. */
static void explain(const struct al_derivation *d, const struct al_printed *printed,
	mpq_srcptr value, const struct judgement *judgement)
{
	const struct al_claim *claim = d->claim;
	struct al_table *table = judgement->table;
	struct al_cell *row = judgement->row;
	enum al_verdict verdict = judgement->verdict;
	int digits = printed->is_fraction ? FRACTION_DIGITS : printed->digits;
	const char *point = al_exact_decimal(&table->arena, value, digits + 2);

	if (verdict == AL_CONSISTENT && d->box.n == 0)
		al_cell_set_text(table, &row[C_NOTE],
			al_format(&table->arena, "%s is about %s", point, claim->printed));
	else if (verdict == AL_CONSISTENT)
		al_cell_set_text(table, &row[C_NOTE],
			al_format(&table->arena, "%s within rounding of the inputs%s", point,
				claim->is_approximate ? " and of \"about\"" : ""));
	else if (verdict == AL_INCONSISTENT)
		al_cell_set_text(table, &row[C_NOTE],
			al_format(&table->arena, "found %s, printed %s", point, claim->printed));
	else if (verdict == AL_UNDERIVABLE)
		al_cell_set_text(table, &row[C_NOTE],
			al_format(&table->arena,
				"not decided: %s, and what the inputs may be rounded from is too "
				"wide to search",
				point));
}

/* Compares a printed polynomial. */
static bool judge_polynomial(struct al_evaluator *evaluator, const struct al_claim *claim,
	const struct al_polynomial *found, struct judgement *judgement, struct al_error *err)
{
	const struct al_formula *formula;
	struct al_polynomial *printed = NULL;
	struct al_text text;

	if (!al_formula_parse(&evaluator->arena, claim->printed, AL_DIALECT_PRINTED, &formula, err)
		|| !al_polynomial_of(formula, claim->symbols, claim->n_symbols, &printed, err))
		return false;
	judgement->verdict = al_polynomial_equal(found, printed) ? AL_REPRODUCED : AL_INCONSISTENT;
	al_text_init(&text);
	al_polynomial_text(found, &text);
	al_cell_set_text(judgement->table, &judgement->row[C_VALUE], text.data);
	al_text_finish(&text);
	al_polynomial_destroy(printed);
	return true;
}

static void judge_order_of_growth(const struct al_claim *claim, int order,
	struct judgement *judgement)
{
	char expected[16];

	snprintf(expected, sizeof(expected),
		order > 1	     ? "O(n^%d)"
			: order == 1 ? "O(n)"
				     : "O(1)",
		order);
	judgement->verdict = strcmp(claim->printed, expected) == 0 ? AL_REPRODUCED
								   : AL_INCONSISTENT;
	al_cell_set_text(judgement->table, &judgement->row[C_VALUE], expected);
}

static void set_scaled(struct al_table *table, struct al_cell *cell, mpq_srcptr value,
	int64_t factor)
{
	mpq_t scaled;

	mpq_init(scaled);
	mpq_set(scaled, value);
	al_exact_divide(scaled, factor);
	al_cell_set_exact(table, cell, scaled);
	mpq_clear(scaled);
}

static bool reach_of(struct al_search *search, const struct al_claim *claim,
	const struct al_printed *printed, int64_t factor, enum al_reach *reach,
	struct al_error *err)
{
	struct al_target target;

	al_target_init(&target, claim, printed, factor);
	bool ok = al_search_box(search, &target, reach, err);
	al_target_finish(&target);
	return ok;
}

/* Did values on either side of what is printed come up, though none can be it? Then a divisor is
 * zero in between: from the least to the greatest value they don't go. */
static bool passes_over(const struct al_search *search, const struct al_claim *claim,
	const struct al_printed *printed, int64_t factor)
{
	struct al_target target;

	al_target_init(&target, claim, printed, factor);
	const bool does = target.has_low && target.has_high && mpq_cmp(search->low, target.low) < 0
		&& mpq_cmp(search->high, target.high) > 0;
	al_target_finish(&target);
	return does;
}

/* Would the claim hold too if the last digit were one more? Then it shows little. */
static bool try_next_digit(struct al_search *search, const struct al_claim *claim,
	const struct al_printed *printed, int64_t factor, bool *holds, struct al_error *err)
{
	struct al_printed next;
	enum al_reach reach;

	al_printed_init(&next);
	al_printed_shift(&next, printed, 1);
	bool ok = reach_of(search, claim, &next, factor, &reach, err);
	*holds = ok && reach == AL_REACHED;
	al_printed_finish(&next);
	return ok;
}

/* All corners are met, so that the answer says from where to where the value goes; the rest of the
 * box only where the value itself doesn't settle it. */
static bool judge_value(struct al_derivation *d, mpq_srcptr point, const struct al_printed *printed,
	int64_t factor, struct judgement *judgement, struct al_error *err)
{
	static const enum al_verdict verdicts[] = {[AL_REACHED] = AL_CONSISTENT,
		[AL_MISSED] = AL_INCONSISTENT,
		[AL_UNDECIDED] = AL_UNDERIVABLE};
	struct al_table *table = judgement->table;
	struct al_cell *row = judgement->row;
	struct al_search search;
	enum al_reach reach;
	bool has_gap = false;

	al_search_init(&search, d, point);
	set_scaled(table, &row[C_VALUE], point, factor);
	bool ok = al_search_corners(&search, err);
	judgement->verdict = AL_REPRODUCED;
	if (ok && !al_claim_is_reproduced(d->claim, row[C_VALUE].exact, printed)) {
		ok = reach_of(&search, d->claim, printed, factor, &reach, err);
		judgement->verdict = ok ? verdicts[reach] : AL_UNDERIVABLE;
		has_gap = judgement->verdict == AL_INCONSISTENT
			&& passes_over(&search, d->claim, printed, factor);
		explain(d, printed, row[C_VALUE].exact, judgement);
	}
	if (has_gap) {
		al_cell_set_text(table, &row[C_NOTE],
			al_format(&table->arena,
				"%s; a divisor is zero within the rounding of the inputs: values "
				"lie "
				"on both sides, none at what is printed",
				row[C_NOTE].text));
	} else {
		set_scaled(table, &row[C_LOW], search.low, factor);
		set_scaled(table, &row[C_HIGH], search.high, factor);
	}
	judgement->is_equality = al_claim_is_equality(d->claim)
		&& (judgement->verdict == AL_REPRODUCED || judgement->verdict == AL_CONSISTENT);
	if (ok && judgement->is_equality)
		ok = try_next_digit(&search, d->claim, printed, factor, &judgement->is_indifferent,
			err);
	al_search_finish(&search);
	return ok;
}

static bool judge_number(struct al_derivation *d, mpq_srcptr point, struct judgement *judgement,
	struct al_error *err)
{
	const struct al_claim *claim = d->claim;
	const char *unit = claim->unit ? claim->unit : d->column ? d->column->scale : NULL;
	struct al_printed printed;

	al_printed_init(&printed);
	bool ok = al_printed_parse(&printed, claim->printed)
		|| al_fail(err, AL_EINPUT, "printed \"%s\" is no number as papers print it",
			claim->printed);
	if (ok) {
		al_claim_allow_rounding(claim, &printed);
		ok = judge_value(d, point, &printed,
			al_unit_factor(printed.unit ? printed.unit : unit), judgement, err);
	}
	al_printed_finish(&printed);
	return ok;
}

static bool judge_derived(struct al_derivation *d, const struct al_scenario_cell *point,
	struct judgement *judgement, struct al_error *err)
{
	switch (point->kind) {
	case AL_SCENARIO_NUMBER:
		return judge_number(d, point->number, judgement, err);
	case AL_SCENARIO_POLYNOMIAL:
		return judge_polynomial(d->evaluator, d->claim, point->polynomial, judgement, err);
	case AL_SCENARIO_ORDER:
		judge_order_of_growth(d->claim, point->order, judgement);
		return true;
	case AL_SCENARIO_MISSING:
	case AL_SCENARIO_UNKNOWN:
		break;
	}
	al_cell_set_text(judgement->table, &judgement->row[C_NOTE],
		"a cell that the value needs is missing");
	return true;
}

static bool judge_claim(struct al_evaluator *evaluator, const struct al_claim *claim,
	struct judgement *judgement, struct al_error *err)
{
	struct al_derivation d = {.evaluator = evaluator, .claim = claim};
	struct al_scenario_cell point;

	if (claim->underivable) {
		al_cell_set_text(judgement->table, &judgement->row[C_NOTE], claim->underivable);
		return true;
	}
	al_scenario_cell_init(&point);
	bool ok = al_derive_point(&d, &point, err) && judge_derived(&d, &point, judgement, err);
	al_scenario_cell_finish(&point);
	return ok;
}

/* ---- counting ---- */

static bool holds(const struct judgement *judgement)
{
	return judgement->verdict == AL_REPRODUCED || judgement->verdict == AL_CONSISTENT;
}

/* A number that is printed counts once, by the reading that holds. */
static void count_number(const struct judgement *judgement, struct al_check_counts *counts)
{
	const struct judgement *best = judgement->held_by ? judgement->held_by : judgement;

	counts->numbers[best->verdict]++;
	counts->equalities += best->is_equality;
	counts->indifferent += best->is_indifferent;
}

/* An erratum is of a number that no reading explains. */
static void count_inconsistent(const struct judgement *judgement, const struct judgement *held_by,
	struct al_check_counts *counts)
{
	const struct al_claim *claim = judgement->claim;
	struct al_table *table = judgement->table;
	struct al_cell *note = &judgement->row[C_NOTE];

	if (held_by) {
		counts->read_otherwise++;
		al_cell_set_text(table, note,
			al_format(&table->arena, "%s%s%s reads it otherwise, and holds",
				note->text ? note->text : "", note->text ? "; " : "",
				held_by->claim->id));
	} else if (claim->first->erratum) {
		counts->errata++;
		al_cell_set_text(table, note,
			al_format(&table->arena, "erratum: %s", claim->first->erratum));
	} else
		counts->unlisted++;
}

static void count(const struct judgement *judgement, const struct judgement *first,
	struct al_check_counts *counts)
{
	const struct al_claim *claim = judgement->claim;
	struct al_table *table = judgement->table;

	counts->verdicts[judgement->verdict]++;
	counts->kinds[claim->kind]++;
	if (claim->kind == AL_CLAIM_PRINTED)
		count_number(judgement, counts);
	if (judgement->verdict == AL_INCONSISTENT)
		count_inconsistent(judgement, first->held_by, counts);
	if (claim->erratum && (judgement->verdict != AL_INCONSISTENT || first->held_by)) {
		counts->wrong_errata++;
		al_cell_set_text(table, &judgement->row[C_NOTE],
			judgement->verdict == AL_INCONSISTENT
				? al_format(&table->arena,
					"listed as an erratum, but %s reads it otherwise, and "
					"holds",
					first->held_by->claim->id)
				: al_format(&table->arena, "listed as an erratum, but it is %s",
					al_verdict_names[judgement->verdict]));
	}
}

static bool check_claim(struct al_scenario *s, struct judgement *judgement, struct al_error *err)
{
	const struct al_claim *claim = judgement->claim;
	struct al_table *table = judgement->table;
	struct al_cell *row = judgement->row = al_table_add_row(table);

	judgement->verdict = AL_UNDERIVABLE;
	al_cell_set_text(table, &row[C_SCENARIO], s->name);
	al_cell_set_text(table, &row[C_ID], claim->id);
	al_cell_set_text(table, &row[C_KIND], al_claim_kind_names[claim->kind]);
	if (claim->where)
		al_cell_set_text(table, &row[C_WHERE], claim->where);
	al_cell_set_text(table, &row[C_PRINTED], claim->printed);
	if (!judge_claim(s->evaluator, claim, judgement, err)) {
		al_in(err, "claim %s", claim->id);
		return al_json_in(&s->doc, claim->node, err);
	}
	al_cell_set_text(table, &row[C_VERDICT], al_verdict_names[judgement->verdict]);
	return true;
}

bool al_scenario_check(struct al_scenario *s, struct al_table *table,
	struct al_check_counts *counts, struct al_error *err)
{
	struct judgement *judgements = al_new_array(&table->arena, struct judgement, s->n_claims);

	for (size_t i = 0; i < s->n_claims; i++) {
		struct judgement *judgement = &judgements[i];
		struct judgement *first = &judgements[s->claims[i].first - s->claims];
		judgement->claim = &s->claims[i];
		judgement->table = table;
		if (!check_claim(s, judgement, err))
			return false;
		if (!first->held_by && holds(judgement))
			first->held_by = judgement;
	}
	for (size_t i = 0; i < s->n_claims; i++)
		count(&judgements[i], &judgements[s->claims[i].first - s->claims], counts);
	return true;
}
