/* Columns of theory: the parameters as a polynomial, its difference to another variant's, its
 * order in a symbol. */
#include "scenario/column.h"

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

static bool subtract(const struct al_cell_place *place, struct al_memo *memo, struct al_error *err)
{
	const struct al_configured_variant *whose = place->table->against;
	const struct al_scenario_row row = {place->row.case_, whose};
	struct al_memo *against;

	return al_place_need_reference(place, whose, "against", "difference", err)
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
