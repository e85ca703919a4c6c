/* Claims: a printed number against what the scenario gives.
 *
 * The value is computed at the point values of the data that it uses; where that isn't what is
 * printed, their box is searched for one that would be printed so. */
#include "scenario/search.h"

#include "scenario/printed.h"

const char *const al_verdict_names[AL_N_VERDICTS] = {"reproduced", "consistent", "inconsistent",
	"underivable"};

/* ---- a row of the answer ---- */

/* The verdict on a claim. */
struct judgment {
	const struct al_scenario_claim *claim;
	struct al_arena *arena; /* of the table */
	const char *scenario, *id, *kind, *where, *printed, *verdict_name, *note;
	const char *text; /* of a value that is no number */
	mpq_srcptr value, low, high; /* or NULL */
	enum al_verdict verdict;
	bool is_equality; /* a number that holds: reproduced or consistent */
	bool is_indifferent; /* it would hold too with the last digit one more */
	bool is_cut_off; /* the value's digits, not rounded */
	const struct judgment *held_by; /* the first of its readings that holds, or NULL */
};

static void get_value(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct judgment *judgment = record;

	if (judgment->text)
		al_cell_set_text(table, cell, judgment->text);
	else if (judgment->value)
		al_cell_set_exact(table, cell, judgment->value);
}

#define OF(member) AL_MEMBER(struct judgment, member)
static const struct al_table_field fields[] = {
	{{.key = "scenario"}, OF(scenario)},
	{{.key = "id", .is_key = true}, OF(id)},
	{{.key = "kind"}, OF(kind)},
	{{.key = "where"}, OF(where)},
	{{.key = "printed"}, OF(printed)},
	{{.key = "value", .digits = AL_DIGITS_ALL}, .get = get_value},
	{{.key = "low", .digits = AL_DIGITS_ALL}, OF(low)},
	{{.key = "high", .digits = AL_DIGITS_ALL}, OF(high)},
	{{.key = "verdict"}, OF(verdict_name)},
	{{.key = "note"}, OF(note)},
	AL_FIELDS_END,
};
#undef OF

void al_check_table_init(struct al_table *table)
{
	al_table_init(table, "check", "Claims and verdicts");
	al_table_add_fields(table, fields, 0);
}

enum { FRACTION_DIGITS = 2 }; /* of 2/3, which has none of its own */

static bool holds(const struct judgment *judgment)
{
	return judgment->verdict == AL_REPRODUCED || judgment->verdict == AL_CONSISTENT;
}

/* "0.42 % below what was measured" */
static const char *say_difference(const struct judgment *judgment, const struct al_printed *printed)
{
	const double measured = mpq_get_d(printed->first), found = mpq_get_d(judgment->value);

	return al_format(judgment->arena, "%.2f %% %s what was measured",
		100 * fabs(found / measured - 1), found < measured ? "below" : "above");
}

/* Explains a claim that the value, in the printed unit, doesn't reproduce. */
static const char *explain(const struct al_derivation *d, const struct al_printed *printed,
	const struct judgment *judgment)
{
	const struct al_scenario_claim *claim = d->claim;
	struct al_arena *arena = judgment->arena;
	int digits = printed->is_fraction ? FRACTION_DIGITS : printed->digits;
	const char *point = al_exact_decimal(arena, judgment->value, digits + 2);

	switch (judgment->verdict) {
	case AL_CONSISTENT:
		if (claim->within)
			return say_difference(judgment, printed);
		if (d->box.n == 0)
			return al_format(arena, "%s is %s%s", point,
				printed->is_about ? "" : "about ", claim->printed);
		return al_format(arena, "%s within rounding of the inputs%s", point,
			claim->is_approximate ? " and of \"about\"" : "");
	case AL_INCONSISTENT:
		return claim->within
			? say_difference(judgment, printed)
			: al_format(arena, "found %s, printed %s", point, claim->printed);
	case AL_UNDERIVABLE:
		return al_format(arena,
			"undecided: %s, and the inputs' rounding leaves too wide a range to search",
			point);
	default:
		return NULL;
	}
}

/* Compares a printed polynomial. */
static bool judge_polynomial(struct al_evaluator *evaluator, const struct al_scenario_claim *claim,
	const struct al_polynomial *found, struct judgment *judgment, struct al_error *err)
{
	const struct al_formula *formula;
	struct al_polynomial *printed = NULL;
	AL_TEXT(text);

	if (!al_formula_parse(evaluator->arena, claim->printed, AL_DIALECT_PRINTED, &formula, err)
		|| !al_polynomial_of(formula, claim->symbols, claim->n_symbols, &printed, err))
		return false;
	judgment->verdict = al_polynomial_equal(found, printed) ? AL_REPRODUCED : AL_INCONSISTENT;
	al_polynomial_text(found, &text);
	judgment->text = al_strdup(judgment->arena, text.data);
	al_polynomial_destroy(printed);
	return true;
}

static void judge_order_of_growth(const struct al_scenario_claim *claim, int order,
	struct judgment *judgment)
{
	judgment->text = order > 1 ? al_format(judgment->arena, "O(n^%d)", order)
		: order == 1	   ? "O(n)"
				   : "O(1)";
	judgment->verdict = strcmp(claim->printed, judgment->text) == 0 ? AL_REPRODUCED
									: AL_INCONSISTENT;
}

/* Would the claim hold too if the last digit were one more? Then it shows little. `printed` is not
 * needed any more. */
static bool try_next_digit(struct al_search *search, const struct al_scenario_claim *claim,
	struct al_printed *printed, int64_t factor, bool *holds, struct al_error *err)
{
	enum al_reach reach;

	al_printed_shift(printed);
	const struct al_target target = al_target_of(claim, printed, factor);
	if (!al_search_box(search, &target, &reach, err))
		return false;
	*holds = reach == AL_REACHED;
	return true;
}

/* The box, where the value itself doesn't settle it. */
static bool judge_box(struct al_search *search, const struct al_printed *printed, int64_t factor,
	struct judgment *judgment, bool *has_gap, struct al_error *err)
{
	static const enum al_verdict verdicts[] = {[AL_REACHED] = AL_CONSISTENT,
		[AL_MISSED] = AL_INCONSISTENT,
		[AL_UNDECIDED] = AL_UNDERIVABLE};
	const struct al_target target = al_target_of(judgment->claim, printed, factor);
	enum al_reach reach;

	if (!al_search_box(search, &target, &reach, err))
		return false;
	judgment->verdict = verdicts[reach];
	judgment->note = explain(search->derivation, printed, judgment);
	/* Did values on either side of what is printed come up, though none can be it? Then a
	 * divisor is zero in between: from the least to the greatest value they don't go. */
	*has_gap = reach == AL_MISSED && target.has_low && target.has_high
		&& mpq_cmp(search->low, target.low) < 0 && mpq_cmp(search->high, target.high) > 0;
	if (*has_gap)
		judgment->note = al_format(judgment->arena,
			"%s; within the inputs' rounding a divisor can be zero: values lie on both "
			"sides of the printed one",
			judgment->note);
	return true;
}

/* Digits that were cut off instead of rounded are another convention, and no error. */
static void try_cutting_off(struct judgment *judgment, const struct al_printed *printed)
{
	AL_EXACT(cut);

	if (judgment->verdict != AL_INCONSISTENT || !al_claim_is_equality(judgment->claim)
		|| judgment->claim->within || printed->is_fraction || printed->scale != 1
		|| !mpq_equal(printed->first, printed->last))
		return;
	al_exact_truncate(cut, judgment->value, printed->digits);
	judgment->is_cut_off = mpq_equal(cut, printed->first) != 0;
	if (!judgment->is_cut_off)
		return;
	judgment->verdict = AL_CONSISTENT;
	judgment->note = al_format(judgment->arena, "%s, cut off instead of rounded",
		al_exact_decimal(judgment->arena, judgment->value, printed->digits + 2));
}

/* All corners are met, so that the answer has the value's whole range. */
static bool judge_value(struct al_derivation *d, mpq_srcptr point, struct al_printed *printed,
	int64_t factor, struct judgment *judgment, struct al_error *err)
{
	struct al_arena *arena = judgment->arena;
	struct al_search search;
	bool has_gap = false;

	al_search_init(&search, d, point);
	judgment->value = al_exact_scaled(arena, point, 1, factor);
	judgment->verdict = AL_REPRODUCED;
	if (!al_search_corners(&search, err)
		|| (!al_claim_is_reproduced(d->claim, judgment->value, printed)
			&& !judge_box(&search, printed, factor, judgment, &has_gap, err)))
		return false;
	try_cutting_off(judgment, printed);
	if (!has_gap) {
		judgment->low = al_exact_scaled(arena, search.low, 1, factor);
		judgment->high = al_exact_scaled(arena, search.high, 1, factor);
	}
	judgment->is_equality = al_claim_is_equality(d->claim) && holds(judgment);
	return !judgment->is_equality || d->claim->within || judgment->is_cut_off
		|| try_next_digit(&search, d->claim, printed, factor, &judgment->is_indifferent,
			err);
}

static bool judge_number(struct al_derivation *d, mpq_srcptr point, struct judgment *judgment,
	struct al_error *err)
{
	const struct al_scenario_claim *claim = d->claim;
	const char *unit = claim->unit ? claim->unit : d->column ? d->column->scale : NULL;
	struct al_printed printed;

	if (!al_printed_parse(&printed, d->arena, claim->printed))
		return al_fail(err, AL_EINPUT, "printed \"%s\" is not a number", claim->printed);
	al_claim_allow_rounding(claim, &printed);
	return judge_value(d, point, &printed, al_unit_factor(printed.unit ? printed.unit : unit),
		judgment, err);
}

static bool judge_derived(struct al_derivation *d, const struct al_scenario_cell *point,
	struct judgment *judgment, struct al_error *err)
{
	switch (point->kind) {
	case AL_SCENARIO_NUMBER:
		return judge_number(d, point->number, judgment, err);
	case AL_SCENARIO_POLYNOMIAL:
		return judge_polynomial(d->evaluator, d->claim, point->polynomial, judgment, err);
	case AL_SCENARIO_ORDER:
		judge_order_of_growth(d->claim, point->order, judgment);
		return true;
	case AL_SCENARIO_MISSING:
	case AL_SCENARIO_UNKNOWN:
		break;
	}
	judgment->note = "a cell that the value needs is missing";
	return true;
}

static bool judge_claim(struct al_evaluator *evaluator, const struct al_scenario_claim *claim,
	struct judgment *judgment, struct al_error *err)
{
	AL_ARENA(scratch);
	AL_SCENARIO_CELL(point);
	struct al_derivation d = {.evaluator = evaluator, .arena = &scratch, .claim = claim};

	judgment->note = claim->underivable;
	return claim->underivable
		|| (al_derive_point(&d, &point, err) && judge_derived(&d, &point, judgment, err));
}

/* ---- counting ---- */

/* An erratum is of a number that no reading explains. */
static void count_inconsistent(struct judgment *judgment, const struct judgment *held_by,
	struct al_check_counts *counts)
{
	const struct al_scenario_claim *first = judgment->claim->first;
	const char *note = judgment->note;

	if (held_by) {
		counts->read_otherwise++;
		judgment->note = al_format(judgment->arena, "%s%sreading %s holds",
			note ? note : "", note ? "; " : "", held_by->id);
	} else if (first->erratum) {
		counts->errata++;
		judgment->note = al_format(judgment->arena, "erratum: %s", first->erratum);
	} else
		counts->unlisted++;
}

static void count(struct judgment *judgment, const struct judgment *held_by,
	struct al_check_counts *counts)
{
	const struct al_scenario_claim *claim = judgment->claim;
	const struct judgment *best = judgment->held_by ? judgment->held_by : judgment;
	const bool is_inconsistent = judgment->verdict == AL_INCONSISTENT;

	counts->verdicts[judgment->verdict]++;
	counts->kinds[claim->kind]++;
	/* A number that is printed counts once, by the reading that holds. */
	if (claim->kind == AL_CLAIM_PRINTED) {
		counts->numbers[best->verdict]++;
		counts->tolerated += best->verdict == AL_CONSISTENT && best->claim->within;
		counts->cut_off += best->is_cut_off;
		counts->equalities += best->is_equality;
		counts->indifferent += best->is_indifferent;
	}
	if (is_inconsistent)
		count_inconsistent(judgment, held_by, counts);
	if (!claim->erratum || (is_inconsistent && !held_by))
		return;
	counts->wrong_errata++;
	judgment->note = is_inconsistent
		? al_format(judgment->arena, "listed as an erratum, but reading %s holds",
			held_by->id)
		: al_format(judgment->arena, "listed as an erratum, but it is %s",
			judgment->verdict_name);
}

static bool check_claim(struct al_scenario *s, struct judgment *judgment, struct al_error *err)
{
	const struct al_scenario_claim *claim = judgment->claim;

	judgment->scenario = s->name;
	judgment->id = claim->id;
	judgment->kind = al_claim_kind_names[claim->kind];
	judgment->where = claim->where;
	judgment->printed = claim->printed;
	judgment->verdict = AL_UNDERIVABLE;
	if (!judge_claim(s->evaluator, claim, judgment, err)) {
		if (s->takes_unset && err->status == AL_EUNSET) {
			judgment->note = al_strdup(judgment->arena, err->message);
			judgment->verdict_name = al_verdict_names[AL_UNDERIVABLE];
			return true;
		}
		al_in(err, "claim %s", claim->id);
		return al_json_in(&s->doc, claim->node, err);
	}
	judgment->verdict_name = al_verdict_names[judgment->verdict];
	return true;
}

bool al_scenario_check(struct al_scenario *s, struct al_table *table,
	struct al_check_counts *counts, struct al_error *err)
{
	struct judgment *judgments = al_new_array(&table->arena, struct judgment, s->n_claims);

	for (size_t i = 0; i < s->n_claims; i++) {
		struct judgment *judgment = &judgments[i];
		struct judgment *first = &judgments[s->claims[i].first - s->claims];
		judgment->claim = &s->claims[i];
		judgment->arena = &table->arena;
		if (!check_claim(s, judgment, err))
			return false;
		if (!first->held_by && holds(judgment))
			first->held_by = judgment;
	}
	for (size_t i = 0; i < s->n_claims; i++) {
		count(&judgments[i], judgments[s->claims[i].first - s->claims].held_by, counts);
		al_table_add_record(table, &judgments[i]);
	}
	return true;
}
