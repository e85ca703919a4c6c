/* A cell's value: a number, a polynomial, an order, or nothing. */
#include "scenario/cell.h"

void al_scenario_cell_init(struct al_scenario_cell *cell)
{
	*cell = (struct al_scenario_cell){.kind = AL_SCENARIO_MISSING};
	mpq_init(cell->number);
}

void al_scenario_cell_finish(struct al_scenario_cell *cell)
{
	mpq_clear(cell->number);
}

bool al_scenario_cell_set_missing(struct al_scenario_cell *cell)
{
	cell->kind = AL_SCENARIO_MISSING;
	return true;
}

bool al_scenario_cell_set_number(struct al_scenario_cell *cell, mpq_srcptr number)
{
	mpq_set(cell->number, number);
	cell->kind = AL_SCENARIO_NUMBER;
	return true;
}

bool al_scenario_cell_set_int(struct al_scenario_cell *cell, int64_t number)
{
	al_exact_set(cell->number, number);
	cell->kind = AL_SCENARIO_NUMBER;
	return true;
}

bool al_scenario_cell_take(const struct al_scenario_cell *cell, const char *name, bool *is_missing,
	struct al_value *value, struct al_error *err)
{
	switch (cell->kind) {
	case AL_SCENARIO_UNKNOWN:
		return true;
	case AL_SCENARIO_MISSING:
		*is_missing = true;
		return false;
	case AL_SCENARIO_NUMBER:
		al_value_set_exact(value, cell->number);
		return true;
	default:
		return al_fail(err, AL_EINPUT, "\"%s\" is a formula, expected a number", name);
	}
}

bool al_scenario_cell_evaluate(struct al_scenario_cell *cell, const struct al_formula *formula,
	const struct al_scope *scope, const bool *is_missing, struct al_error *err)
{
	AL_VALUE(value);

	if (!al_formula_eval(formula, scope, &value, err))
		return *is_missing && al_scenario_cell_set_missing(cell);
	al_value_get(&value, cell->number);
	cell->kind = AL_SCENARIO_NUMBER;
	return true;
}

static size_t find_used(const struct al_data_box *box, const struct al_datum *datum)
{
	size_t i = 0;

	while (i < box->n && box->used[i] != datum)
		i++;
	return i;
}

static bool add_used(struct al_data_box *box, const struct al_datum *datum, struct al_error *err)
{
	if (find_used(box, datum) < box->n)
		return true;
	if (box->n == AL_MOST_DATA)
		return al_fail(err, AL_EINPUT, "the value uses more than %d data", AL_MOST_DATA);
	box->used[box->n++] = datum;
	return true;
}

bool al_scenario_cell_set_datum(struct al_scenario_cell *cell, struct al_data_box *box,
	const struct al_datum *datum, struct al_error *err)
{
	if (!datum || !datum->printed)
		return al_scenario_cell_set_missing(cell);
	cell->datum = datum;
	if (!box || mpq_equal(datum->low, datum->high))
		return al_scenario_cell_set_number(cell, datum->value);
	if (!box->at)
		return add_used(box, datum, err) && al_scenario_cell_set_number(cell, datum->value);
	size_t i = find_used(box, datum);
	return al_scenario_cell_set_number(cell, i < box->n ? box->at[i] : datum->value);
}

void al_data_box_corner(const struct al_data_box *box, unsigned corner, mpq_srcptr *at)
{
	for (size_t i = 0; i < box->n; i++)
		at[i] = corner >> i & 1 ? box->used[i]->high : box->used[i]->low;
}
