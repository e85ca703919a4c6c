/* Values of columns: from the row's ledger, measured scores, or theory. */
#include "scenario/column.h"

static bool need_reference(const struct al_cell_place *place,
	const struct al_configured_variant *reference, const char *key, const char *column,
	struct al_error *err)
{
	return reference
		|| al_fail(err, AL_EUNSET, "table \"%s\": column \"%s\" needs the key \"%s\"",
			place->table->id, column, key);
}

static bool compute(struct al_evaluator *evaluator, struct al_memo *memo, enum al_measure which,
	struct al_error *err)
{
	mpq_ptr number = al_exact_new(evaluator->arena);

	if (!al_ledger_measure(&memo->ledger, which, memo->request.recipe, number, err))
		return false;
	if (al_ledger_declares(&memo->ledger, which, memo->request.recipe, &memo->undeclared))
		memo->measures[which] = number;
	return true;
}

static bool measure_of(const struct al_cell_place *place, struct al_scenario_row row,
	enum al_measure which, struct al_scenario_cell *out, struct al_error *err)
{
	struct al_memo *memo;

	if (!row.variant)
		return al_fail(err, AL_EINPUT, "table \"%s\": %s of a case needs a variant",
			place->table->id, al_measures[which].key);
	if (!row.variant->variant)
		return al_scenario_cell_set_missing(out);
	if (!al_memo_find(place->evaluator, place->table, row, &memo, err))
		return false;
	if (!memo->measures[which] && !compute(place->evaluator, memo, which, err))
		return al_in(err, "table \"%s\"", place->table->id);
	return memo->measures[which] ? al_scenario_cell_set_number(out, memo->measures[which])
				     : al_scenario_cell_set_missing(out);
}

bool al_column_measure(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	return measure_of(place, place->row, kind->measure, out, err);
}

/* The percentage of `total` that the row saves against the baseline. */
bool al_column_saving(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_scenario_row reference = {place->row.case_, place->table->baseline};
	AL_SCENARIO_CELL(base);

	if (!need_reference(place, reference.variant, "baseline", kind->column.key, err)
		|| !measure_of(place, place->row, AL_TOTAL, out, err)
		|| !measure_of(place, reference, AL_TOTAL, &base, err))
		return false;
	if (out->kind == AL_SCENARIO_MISSING || base.kind == AL_SCENARIO_MISSING
		|| !al_exact_saving(out->number, out->number, base.number))
		al_scenario_cell_set_missing(out);
	return true;
}

bool al_column_modules(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	struct al_memo *memo;
	int64_t n;

	(void)kind;
	if (!al_memo_find(place->evaluator, place->table, place->row, &memo, err))
		return false;
	if (!memo->has_ledger)
		return al_scenario_cell_set_missing(out);
	return al_ledger_modules(&memo->ledger, &n, err) && al_scenario_cell_set_int(out, n);
}

bool al_column_symbol(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_setting *setting;
	struct al_memo *memo;

	if (!al_memo_find(place->evaluator, place->table, place->row, &memo, err))
		return false;
	struct al_settings *settings = memo->has_ledger ? al_ledger_settings(&memo->ledger)
							: &memo->request.settings;
	if (!al_settings_get(settings, kind->name, &setting, err))
		return false;
	if (setting && setting->value.kind == AL_VALUE_INTEGER)
		return al_scenario_cell_set_int(out, setting->value.integer);
	out->kind = AL_SCENARIO_UNKNOWN;
	return true;
}

/* ---- scores, how much of a reference's score is retained, and what parameters buy (Xue & Aletras
 * 2023, section 4.6) ---- */

static bool score_of(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_row row, struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_data_set *set = kind->set;

	if (!set)
		return al_fail(err, AL_EINPUT, "no data for the metric \"%s\"", kind->name);
	return al_evaluator_spend(place->evaluator, set->n_rows / 16, err)
		&& al_scenario_cell_set_datum(out, place->box,
			al_datum_find(set, row, kind->metric), err);
}

bool al_column_score(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	return score_of(kind, place, place->row, out, err);
}

static bool higher_is_better(const struct al_column_kind *kind)
{
	return kind->set->columns[kind->metric].direction == AL_HIGHER_IS_BETTER;
}

static bool check_direction(const struct al_column_kind *kind, struct al_error *err)
{
	return kind->set->columns[kind->metric].direction != AL_PLAIN
		|| al_fail(err, AL_EINPUT,
			"metric \"%s\" doesn't specify whether higher or lower is better",
			kind->name);
}

bool al_column_retention(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_scenario_row whose = {place->row.case_, place->table->retention};
	AL_SCENARIO_CELL(reference);

	if (!need_reference(place, whose.variant, "retention", "prr", err)
		|| !score_of(kind, place, place->row, out, err) || !check_direction(kind, err)
		|| !score_of(kind, place, whose, &reference, err))
		return false;
	out->datum = NULL;
	if (out->kind == AL_SCENARIO_MISSING || reference.kind == AL_SCENARIO_MISSING
		|| !al_retention(out->number, out->number, reference.number,
			higher_is_better(kind)))
		al_scenario_cell_set_missing(out);
	return true;
}

bool al_column_elasticity(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_scenario_row base = {place->row.case_, place->table->elasticity};
	AL_SCENARIO_CELL(base_score);
	AL_SCENARIO_CELL(parameters);
	AL_SCENARIO_CELL(base_parameters);

	if (!need_reference(place, base.variant, "elasticity", "peop", err)
		|| !score_of(kind, place, place->row, out, err)
		|| !score_of(kind, place, base, &base_score, err) || !check_direction(kind, err)
		|| !measure_of(place, place->row, AL_PARAMETERS, &parameters, err)
		|| !measure_of(place, base, AL_PARAMETERS, &base_parameters, err))
		return false;
	out->datum = NULL;
	if (out->kind == AL_SCENARIO_MISSING || base_score.kind == AL_SCENARIO_MISSING
		|| parameters.kind == AL_SCENARIO_MISSING
		|| base_parameters.kind == AL_SCENARIO_MISSING
		|| !al_elasticity(out->number, out->number, base_score.number, parameters.number,
			base_parameters.number, higher_is_better(kind)))
		al_scenario_cell_set_missing(out);
	return true;
}

/* ---- the parameters as a polynomial, its difference to another variant's, its order in a
 * symbol ---- */

static bool polynomial_of(const struct al_cell_place *place, struct al_scenario_row row,
	struct al_memo **memo, struct al_error *err)
{
	const struct al_scenario_table *table = place->table;

	return al_memo_find(place->evaluator, table, row, memo, err)
		&& ((*memo)->formula
			|| al_ledger_polynomial(&(*memo)->ledger, table->substitutions,
				table->n_substitutions, &(*memo)->formula, err));
}

/* The memo of the row's polynomial; NULL, and the cell is missing, where only data know the
 * variant. */
static bool polynomial_of_row(const struct al_cell_place *place, struct al_memo **memo,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_configured_variant *variant = place->row.variant;

	*memo = NULL;
	al_scenario_cell_set_missing(out);
	return !variant || !variant->variant || polynomial_of(place, place->row, memo, err)
		|| al_in(err, "table \"%s\"", place->table->id);
}

static bool set_polynomial(struct al_scenario_cell *out, const struct al_polynomial *polynomial)
{
	out->kind = AL_SCENARIO_POLYNOMIAL;
	out->polynomial = polynomial;
	return true;
}

bool al_column_formula(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	struct al_memo *memo;

	(void)kind;
	return polynomial_of_row(place, &memo, out, err)
		&& (!memo || set_polynomial(out, memo->formula));
}

/* What a token adds to the cache. */
bool al_column_cache_formula(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_scenario_table *table = place->table;
	struct al_memo *memo;

	(void)kind;
	return polynomial_of_row(place, &memo, out, err)
		&& (!memo
			|| ((memo->cached
				    || al_ledger_cache_polynomial(&memo->ledger, false,
					    table->substitutions, table->n_substitutions,
					    &memo->cached, err))
				&& set_polynomial(out, memo->cached)));
}

static bool subtract(const struct al_cell_place *place, struct al_memo *memo, struct al_error *err)
{
	const struct al_configured_variant *whose = place->table->against;
	const struct al_scenario_row row = {place->row.case_, whose};
	struct al_memo *against;

	return need_reference(place, whose, "against", "difference", err)
		&& polynomial_of(place, row, &against, err)
		&& al_polynomial_difference(memo->formula, against->formula, &memo->difference,
			err);
}

bool al_column_difference(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	struct al_memo *memo;

	(void)kind;
	return polynomial_of_row(place, &memo, out, err)
		&& (!memo
			|| ((memo->difference || subtract(place, memo, err))
				&& set_polynomial(out, memo->difference)));
}

bool al_column_order(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const char *symbol = place->table->order;
	struct al_memo *memo;

	(void)kind;
	if (!polynomial_of_row(place, &memo, out, err))
		return false;
	if (!memo)
		return true;
	if (!symbol)
		return al_fail(err, AL_EINPUT,
			"table \"%s\": column \"order\" needs the key \"order\"", place->table->id);
	out->kind = AL_SCENARIO_ORDER;
	return al_polynomial_degree(memo->formula, symbol, &out->order, err);
}
