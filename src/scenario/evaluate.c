/* Evaluating any cell: a key of the list of columns, or a formula over other cells. */
#include "scenario/cell.h"

#include "scenario/column.h"

enum { MOST_NESTED = 16 };

/* One cell's evaluation: also the context of its formula's scope. */
struct evaluation {
	struct al_cell_place place;
	int nested;
	bool is_missing; /* a cell that the formula needs is missing */
	bool error_has_column; /* the message already names the column */
};

static bool evaluate(struct evaluation *e, const char *key, struct al_scenario_cell *out,
	struct al_error *err);

/* Columns of the table, and keys that need no formula. */
static void add_known(const struct al_cell_place *place, struct al_names *names)
{
	for (size_t i = 0; i < place->table->n_columns; i++)
		al_names_add(names, place->table->columns[i].column.key);
	al_column_add_keys(place->evaluator->scenario, names);
}

/* The row that NAME[ROW] asks, seen from this one. */
static bool other_row(const struct al_cell_place *place, const char *text,
	struct al_scenario_row *row, struct al_error *err)
{
	const struct al_scenario *s = place->evaluator->scenario;
	const char *comma = strchr(text, ',');
	AL_ARENA(arena);

	*row = place->row;
	if (!comma && place->table->kind == AL_ROWS_CASES)
		return (row->case_ = al_case_find(s, text, err)) != NULL;
	if (comma)
		row->case_ = al_case_find(s, al_strndup(&arena, text, (size_t)(comma - text)), err);
	return row->case_
		&& (row->variant = al_variant_find(s, comma ? comma + 1 : text, err)) != NULL;
}

/* The evaluation of what a formula refers to. */
static bool begin_inner(const struct evaluation *outer, const struct al_reference *reference,
	struct evaluation *inner, struct al_error *err)
{
	*inner = *outer;
	if (++inner->nested > MOST_NESTED)
		return al_fail(err, AL_EINPUT, "column \"%s\" refers to itself", reference->symbol);
	return !reference->row || other_row(&outer->place, reference->row, &inner->place.row, err);
}

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *value, struct al_error *err)
{
	struct evaluation *outer = context;
	struct evaluation inner;
	AL_SCENARIO_CELL(cell);

	if (!begin_inner(outer, reference, &inner, err))
		return false;
	const bool ok = evaluate(&inner, reference->symbol, &cell, err)
		&& al_scenario_cell_take(&cell, reference->symbol, &inner.is_missing, value, err);
	*found = cell.kind != AL_SCENARIO_UNKNOWN;
	outer->is_missing = outer->is_missing || inner.is_missing;
	outer->error_has_column = inner.error_has_column;
	return ok;
}

/* What a formula may name, for the message about a wrong name. */
static size_t known_names(void *context, const char *const **out)
{
	const struct evaluation *e = context;
	struct al_evaluator *evaluator = e->place.evaluator;
	struct al_names names;

	al_names_init(&names);
	add_known(&e->place, &names);
	al_names_add_of(evaluator->scenario, AL_NAMES_METRICS, &names);
	const char **list = al_new_array(evaluator->arena, const char *, names.n);
	const size_t n = names.n;
	memcpy(list, names.items, n * sizeof(*list));
	al_names_finish(&names);
	*out = list;
	return n;
}

/* ---- any key ---- */

static bool formula_column(struct evaluation *e, const struct al_scenario_column *column,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_scope scope = {.lookup = look_up, .known = known_names, .context = e};

	if (al_scenario_cell_evaluate(out, column->formula, &scope, &e->is_missing, err))
		return true;
	if (!e->error_has_column)
		al_in(err, "table \"%s\", column \"%s\"", e->place.table->id, column->column.key);
	e->error_has_column = true;
	return false;
}

static bool evaluate(struct evaluation *e, const char *key, struct al_scenario_cell *out,
	struct al_error *err)
{
	const struct al_scenario_column *column = AL_FIND(e->place.table->columns,
		e->place.table->n_columns, key);

	if (!al_evaluator_spend(e->place.evaluator, 1, err))
		return false;
	if (column && column->formula)
		return formula_column(e, column, out, err);
	if (column)
		return column->kind->evaluate(column->kind, &e->place, out, err);
	const struct al_column_kind *kind = al_evaluator_kind(e->place.evaluator, key);
	return kind->evaluate(kind, &e->place, out, err);
}

/* No such column; or a symbol that this row's case doesn't give. */
static bool fail_unknown_column(const struct al_scenario *s, const struct al_cell_place *place,
	const char *key, struct al_error *err)
{
	const struct al_scenario_table *table = place->table;
	const struct al_column_kind kind = al_column_kind_of(s, key);
	struct al_names names;

	if (al_column_is_known(s, &kind) && place->row.case_)
		return al_fail(err, AL_EINPUT, "table \"%s\": case \"%s\" gives no %s", table->id,
			place->row.case_->id, key);
	al_names_init(&names);
	add_known(place, &names);
	al_names_fail(&names, "column", key, err);
	return al_in(err, "table \"%s\"", table->id);
}

bool al_cell_value(const struct al_cell_place *place, const char *key, struct al_scenario_cell *out,
	struct al_error *err)
{
	struct evaluation e = {.place = *place};

	return evaluate(&e, key, out, err)
		&& (out->kind != AL_SCENARIO_UNKNOWN
			|| fail_unknown_column(place->evaluator->scenario, place, key, err));
}

/* ---- ranges ---- */

static bool enclose(struct evaluation *e, const char *key, struct al_interval *out,
	struct al_error *err);

static bool look_up_range(void *context, const struct al_reference *reference,
	struct al_interval *out, struct al_error *err)
{
	struct evaluation inner;

	return begin_inner(context, reference, &inner, err)
		&& enclose(&inner, reference->symbol, out, err);
}

static bool holds_zero(const struct al_data_box *box)
{
	for (size_t i = 0; i < box->n; i++)
		if (mpq_sgn(box->used[i]->low) <= 0 && mpq_sgn(box->used[i]->high) >= 0)
			return true;
	return false;
}

/* `at` is the box's own. */
static bool include_corners(const struct al_column_kind *kind, const struct al_cell_place *place,
	mpq_srcptr *at, struct al_scenario_cell *cell, struct al_interval *out,
	struct al_error *err)
{
	for (unsigned corner = 0; corner < 1u << place->box->n; corner++) {
		al_data_box_corner(place->box, corner, at);
		if (!kind->evaluate(kind, place, cell, err))
			return false;
		if (corner == 0)
			al_interval_set(out, cell->number, cell->number);
		al_interval_include(out, cell->number);
	}
	return true;
}

/* A column of the list rises or falls all the way in each datum alone: it goes from corner to
 * corner, and is a number at each. One that is no plain datum may have a pole where a datum is
 * zero. */
static bool enclose_listed(const struct al_column_kind *kind, struct al_cell_place place,
	struct al_interval *out, struct al_error *err)
{
	mpq_srcptr at[AL_MOST_DATA];
	struct al_data_box box = {0};
	AL_SCENARIO_CELL(cell);

	place.box = &box;
	if (!kind->evaluate(kind, &place, &cell, err))
		return false;
	box.at = at;
	if (cell.kind == AL_SCENARIO_NUMBER && (cell.datum || !holds_zero(&box)))
		return include_corners(kind, &place, at, &cell, out, err);
	al_interval_set_any(out);
	return true;
}

static bool enclose(struct evaluation *e, const char *key, struct al_interval *out,
	struct al_error *err)
{
	const struct al_scenario_column *column = AL_FIND(e->place.table->columns,
		e->place.table->n_columns, key);
	struct al_interval_scope scope = {.lookup = look_up_range, .context = e};

	if (!al_evaluator_spend(e->place.evaluator, 1, err))
		return false;
	if (column && column->formula)
		return al_formula_enclose(column->formula, &scope, out, err);
	return enclose_listed(al_evaluator_kind(e->place.evaluator, key), e->place, out, err);
}

bool al_cell_enclose(const struct al_cell_place *place, const char *key, struct al_interval *out,
	struct al_error *err)
{
	struct evaluation e = {.place = *place};

	return enclose(&e, key, out, err);
}
