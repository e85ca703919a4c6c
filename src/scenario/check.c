/* Claims: a printed number against what the scenario gives, by exact interval arithmetic.
 *
 * The value is computed at the point values of the data that it uses and at all corners of their
 * box; the verdict compares that with the interval of numbers that are printed so. */
#include "scenario/memo.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "scenario/path.h"
#include "scenario/units.h"
#include "scenario/verdict.h"

const char *const al_verdict_names[AL_N_VERDICTS] = {"reproduced", "consistent", "inconsistent",
	"underivable"};

/* ---- the value ---- */

/* The context of a claim's formula. */
struct names {
	struct evaluator *evaluator;
	const struct claim *claim;
	struct box *box;
	const struct al_column *column; /* of the first path */
	bool is_missing;
};

static const char *path_of(const struct claim *claim, const char *name)
{
	for (size_t i = 0; i < claim->n_with; i++)
		if (strcmp(claim->with[i].name, name) == 0)
			return claim->with[i].path;
	return NULL;
}

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *value, struct al_error *err)
{
	struct names *names = context;
	const char *path = path_of(names->claim, reference->symbol);
	const struct al_column *column;
	struct cell cell;

	*found = path != NULL;
	if (!path)
		return true;
	cell_init(&cell);
	bool ok = path_value(names->evaluator, path, names->box, &cell, &column, err);
	if (ok && cell.kind == CELL_MISSING) {
		names->is_missing = true;
		ok = al_fail(err, AL_EINPUT, "%s is missing", path);
	} else if (ok && cell.kind != CELL_NUMBER)
		ok = al_fail(err, AL_EINPUT, "%s is no number", path);
	else if (ok)
		al_value_set_exact(value, cell.number);
	cell_finish(&cell);
	return ok;
}

static size_t known_names(void *context, const char *const **out)
{
	const struct names *names = context;
	const char **list = al_new_array(&names->evaluator->arena, const char *,
		names->claim->n_with + 1);

	for (size_t i = 0; i < names->claim->n_with; i++)
		list[i] = names->claim->with[i].name;
	*out = list;
	return names->claim->n_with;
}

static bool evaluate_formula(struct names *names, struct cell *out, struct al_error *err)
{
	struct al_scope scope = {.lookup = look_up, .known = known_names, .context = names};
	struct al_value value;

	al_value_init(&value);
	bool ok = al_formula_eval(names->claim->formula, &scope, &value, err);
	if (ok) {
		al_value_get(&value, out->number);
		out->kind = CELL_NUMBER;
	} else if (names->is_missing) {
		out->kind = CELL_MISSING;
		ok = true;
	}
	al_value_finish(&value);
	return ok;
}

static bool evaluate(struct names *names, struct cell *out, struct al_error *err)
{
	if (names->claim->formula)
		return evaluate_formula(names, out, err);
	return path_value(names->evaluator, names->claim->path, names->box, out, &names->column,
		err);
}

/* Widens low..high by the values at all corners. */
static bool visit_corners(struct names *names, struct value *value, struct al_error *err)
{
	struct cell corner;
	bool ok = true;

	cell_init(&corner);
	names->box->is_corner = true;
	for (unsigned i = 0; ok && i < 1u << names->box->n; i++) {
		names->box->corner = i;
		ok = evaluate(names, &corner, err);
		if (!ok || corner.kind != CELL_NUMBER)
			continue;
		al_exact_keep_least(value->low, corner.number);
		al_exact_keep_most(value->high, corner.number);
	}
	cell_finish(&corner);
	return ok;
}

static bool compute(struct evaluator *evaluator, const struct claim *claim, struct value *value,
	struct al_error *err)
{
	struct box box = {0};
	struct names names = {.evaluator = evaluator, .claim = claim, .box = &box};

	if (!evaluate(&names, &value->point, err))
		return false;
	if (value->point.kind != CELL_NUMBER)
		return true;
	mpq_set(value->low, value->point.number);
	mpq_set(value->high, value->point.number);
	if (box.n > 0 && !visit_corners(&names, value, err))
		return false;

	const char *unit = claim->unit ? claim->unit : names.column ? names.column->scale : NULL;
	value->factor = unit_factor(unit);
	al_exact_divide(value->point.number, value->factor);
	al_exact_divide(value->low, value->factor);
	al_exact_divide(value->high, value->factor);
	return true;
}

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

static void set_value(struct al_table *table, struct al_cell *row, const struct value *value)
{
	al_cell_set_exact(table, &row[C_VALUE], value->point.number);
	al_cell_set_exact(table, &row[C_LOW], value->low);
	al_cell_set_exact(table, &row[C_HIGH], value->high);
}

/* What a reader asks of a claim that the point does not reproduce. */
static void explain(struct al_table *table, struct al_cell *row, const struct claim *claim,
	const struct value *value, const struct printed *printed, enum al_verdict verdict)
{
	int digits = printed->digits + 2;
	const char *point = al_exact_decimal(&table->arena, value->point.number, digits);

	if (verdict == AL_CONSISTENT)
		al_cell_set_text(table, &row[C_NOTE],
			al_format(&table->arena, "%s within rounding of the inputs%s", point,
				claim->is_approximate ? " and of \"about\"" : ""));
	else if (verdict == AL_INCONSISTENT)
		al_cell_set_text(table, &row[C_NOTE],
			al_format(&table->arena, "found %s, printed %s", point, claim->printed));
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

static bool judge_order_of_growth(const struct claim *claim, int order, enum al_verdict *verdict,
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
	return true;
}

static bool judge_number(const struct claim *claim, const struct value *value,
	enum al_verdict *verdict, struct al_table *table, struct al_cell *row, struct al_error *err)
{
	struct printed printed;

	mpq_inits(printed.first, printed.last, printed.low, printed.high, NULL);
	bool ok = parse_printed(claim->printed, &printed)
		|| al_fail(err, AL_EINPUT, "printed \"%s\" is no number as papers print it",
			claim->printed);
	if (ok) {
		allow_rounding(claim, &printed);
		*verdict = judge(claim, value, &printed);
		set_value(table, row, value);
		explain(table, row, claim, value, &printed, *verdict);
	}
	mpq_clears(printed.first, printed.last, printed.low, printed.high, NULL);
	return ok;
}

static bool judge_claim(struct evaluator *evaluator, const struct claim *claim,
	enum al_verdict *verdict, struct al_table *table, struct al_cell *row, struct al_error *err)
{
	struct value value;
	bool ok;

	*verdict = AL_UNDERIVABLE;
	if (claim->underivable) {
		al_cell_set_text(table, &row[C_NOTE], claim->underivable);
		return true;
	}
	cell_init(&value.point);
	mpq_inits(value.low, value.high, NULL);
	ok = compute(evaluator, claim, &value, err);
	if (ok && value.point.kind == CELL_MISSING)
		al_cell_set_text(table, &row[C_NOTE], "a cell that the value needs is missing");
	else if (ok && value.point.kind == CELL_POLYNOMIAL)
		ok = judge_polynomial(evaluator, claim, value.point.polynomial, verdict, table, row,
			err);
	else if (ok && value.point.kind == CELL_ORDER)
		ok = judge_order_of_growth(claim, value.point.order, verdict, table, row);
	else if (ok)
		ok = judge_number(claim, &value, verdict, table, row, err);
	mpq_clears(value.low, value.high, NULL);
	cell_finish(&value.point);
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
