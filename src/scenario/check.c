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

enum { C_SCENARIO, C_ID, C_WHERE, C_PRINTED, C_VALUE, C_LOW, C_HIGH, C_VERDICT, C_NOTE };

void al_check_table_init(struct al_table *table)
{
	static const char *const keys[] = {"scenario", "id", "where", "printed", "value", "low",
		"high", "verdict", "note"};

	al_table_init(table, "check", "Claims and verdicts");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		al_table_add_column(table,
			(struct al_column){.key = keys[i],
				.digits = AL_DIGITS_ALL,
				.is_key = i == C_ID});
}

/* What a reader asks of a claim that the value, in the printed unit, does not reproduce. */
static void explain(struct al_table *table, struct al_cell *row, const struct claim *claim,
	mpq_srcptr value, int digits, enum al_verdict verdict)
{
	const char *point = al_exact_decimal(&table->arena, value, digits + 2);

	if (verdict == AL_CONSISTENT)
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
static bool judge_polynomial(struct evaluator *evaluator, const struct claim *claim,
	const struct al_polynomial *found, enum al_verdict *verdict, struct al_table *table,
	struct al_cell *row, struct al_error *err)
{
	const struct al_formula *formula;
	struct al_polynomial *printed = NULL;
	struct al_text text;

	if (!al_formula_parse(&evaluator->arena, claim->printed, AL_DIALECT_PRINTED, &formula, err)
		|| !al_polynomial_of(formula, claim->symbols, claim->n_symbols, &printed, err))
		return false;
	*verdict = al_polynomial_equal(found, printed) ? AL_REPRODUCED : AL_INCONSISTENT;
	al_text_init(&text);
	al_polynomial_text(found, &text);
	al_cell_set_text(table, &row[C_VALUE], text.data);
	al_text_finish(&text);
	al_polynomial_destroy(printed);
	return true;
}

static void judge_order_of_growth(const struct claim *claim, int order, enum al_verdict *verdict,
	struct al_table *table, struct al_cell *row)
{
	char expected[16];

	snprintf(expected, sizeof(expected),
		order > 1	     ? "O(n^%d)"
			: order == 1 ? "O(n)"
				     : "O(1)",
		order);
	*verdict = strcmp(claim->printed, expected) == 0 ? AL_REPRODUCED : AL_INCONSISTENT;
	al_cell_set_text(table, &row[C_VALUE], expected);
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

/* All corners are met, so that the answer says from where to where the value goes; the rest of the
 * box only where the value itself doesn't settle it. */
static bool judge_value(struct derivation *d, mpq_srcptr point, const struct printed *printed,
	int64_t factor, enum al_verdict *verdict, struct al_table *table, struct al_cell *row,
	struct al_error *err)
{
	static const enum al_verdict verdicts[] = {[REACHED] = AL_CONSISTENT,
		[MISSED] = AL_INCONSISTENT,
		[UNDECIDED] = AL_UNDERIVABLE};
	struct target target;
	struct search search;
	enum reach reach;

	target_init(&target, d->claim, printed, factor);
	search_init(&search, d, &target, point);
	set_scaled(table, &row[C_VALUE], point, factor);
	bool ok = search_corners(&search, err);
	*verdict = AL_REPRODUCED;
	if (ok && !is_reproduced(d->claim, row[C_VALUE].exact, printed)) {
		ok = search_box(&search, &reach, err);
		*verdict = ok ? verdicts[reach] : AL_UNDERIVABLE;
		explain(table, row, d->claim, row[C_VALUE].exact, printed->digits, *verdict);
	}
	set_scaled(table, &row[C_LOW], search.low, factor);
	set_scaled(table, &row[C_HIGH], search.high, factor);
	search_finish(&search);
	target_finish(&target);
	return ok;
}

static bool judge_number(struct derivation *d, mpq_srcptr point, enum al_verdict *verdict,
	struct al_table *table, struct al_cell *row, struct al_error *err)
{
	const struct claim *claim = d->claim;
	const char *unit = claim->unit ? claim->unit : d->column ? d->column->scale : NULL;
	struct printed printed;

	printed_init(&printed);
	bool ok = printed_parse(&printed, claim->printed)
		|| al_fail(err, AL_EINPUT, "printed \"%s\" is no number as papers print it",
			claim->printed);
	if (ok) {
		allow_rounding(claim, &printed);
		ok = judge_value(d, point, &printed,
			unit_factor(printed.unit ? printed.unit : unit), verdict, table, row, err);
	}
	printed_finish(&printed);
	return ok;
}

static bool judge_derived(struct derivation *d, const struct cell *point, enum al_verdict *verdict,
	struct al_table *table, struct al_cell *row, struct al_error *err)
{
	switch (point->kind) {
	case CELL_NUMBER:
		return judge_number(d, point->number, verdict, table, row, err);
	case CELL_POLYNOMIAL:
		return judge_polynomial(d->evaluator, d->claim, point->polynomial, verdict, table,
			row, err);
	case CELL_ORDER:
		judge_order_of_growth(d->claim, point->order, verdict, table, row);
		return true;
	case CELL_MISSING:
	case CELL_UNKNOWN:
		break;
	}
	al_cell_set_text(table, &row[C_NOTE], "a cell that the value needs is missing");
	return true;
}

static bool judge_claim(struct evaluator *evaluator, const struct claim *claim,
	enum al_verdict *verdict, struct al_table *table, struct al_cell *row, struct al_error *err)
{
	struct derivation d = {.evaluator = evaluator, .claim = claim};
	struct cell point;

	*verdict = AL_UNDERIVABLE;
	if (claim->underivable) {
		al_cell_set_text(table, &row[C_NOTE], claim->underivable);
		return true;
	}
	cell_init(&point);
	bool ok = derive_point(&d, &point, err)
		&& judge_derived(&d, &point, verdict, table, row, err);
	cell_finish(&point);
	return ok;
}

static void count(const struct claim *claim, enum al_verdict verdict, struct al_table *table,
	struct al_cell *row, struct al_check_counts *counts)
{
	counts->verdicts[verdict]++;
	if (verdict == AL_INCONSISTENT && claim->erratum) {
		counts->errata++;
		al_cell_set_text(table, &row[C_NOTE],
			al_format(&table->arena, "erratum: %s", claim->erratum));
	} else if (verdict == AL_INCONSISTENT)
		counts->unlisted++;
	else if (claim->erratum) {
		counts->wrong_errata++;
		al_cell_set_text(table, &row[C_NOTE],
			al_format(&table->arena, "listed as an erratum, but it is %s",
				al_verdict_names[verdict]));
	}
}

static bool check_claim(struct al_scenario *s, const struct claim *claim, struct al_table *table,
	struct al_check_counts *counts, struct al_error *err)
{
	struct al_cell *row = al_table_add_row(table);
	enum al_verdict verdict;

	al_cell_set_text(table, &row[C_SCENARIO], s->name);
	al_cell_set_text(table, &row[C_ID], claim->id);
	if (claim->where)
		al_cell_set_text(table, &row[C_WHERE], claim->where);
	al_cell_set_text(table, &row[C_PRINTED], claim->printed);
	if (!judge_claim(s->evaluator, claim, &verdict, table, row, err)) {
		al_in(err, "claim %s", claim->id);
		return al_json_in(&s->doc, claim->node, err);
	}
	al_cell_set_text(table, &row[C_VERDICT], al_verdict_names[verdict]);
	count(claim, verdict, table, row, counts);
	return true;
}

bool al_scenario_check(struct al_scenario *scenario, struct al_table *table,
	struct al_check_counts *counts, struct al_error *err)
{
	scenario->evaluator->n_look_ups = 0;
	for (size_t i = 0; i < scenario->n_claims; i++)
		if (!check_claim(scenario, &scenario->claims[i], table, counts, err))
			return false;
	return true;
}
