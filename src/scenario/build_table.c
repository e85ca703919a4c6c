/* Building a table of a scenario: its columns, its rows, its notes. */
#include "scenario/build.h"

#include "scenario/column.h"
#include "scenario/cell.h"

static void add_key_columns(const struct al_scenario_table *table, struct al_table *out)
{
	if (table->shows_case)
		al_table_add_column(out,
			(struct al_column){.key = "case", .title = "Case", .is_key = true});
	if (table->shows_variant)
		al_table_add_column(out,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
}

/* A column once a variant: "parameters:mha", the column's title over the variants' names. */
static struct al_column pivoted_column(const struct al_shown_column *shown, struct al_table *out)
{
	const struct al_configured_variant *variant = shown->variant;
	struct al_column column = shown->column->column;
	const char *title = column.title ? column.title : column.key;

	column.group = column.group ? al_format(&out->arena, "%s %s", column.group, title) : title;
	column.title = variant->title ? variant->title : variant->name;
	column.key = al_format(&out->arena, "%s:%s", column.key, variant->name);
	return column;
}

/* ---- cells ---- */

static void set_cell(const struct al_scenario *s, const struct al_scenario_table *table,
	const struct al_scenario_cell *value, struct al_table *out, struct al_cell *cell)
{
	if (value->datum && value->datum->is_date) {
		al_cell_set_text(out, cell, value->datum->printed);
		return;
	}
	switch (value->kind) {
	case AL_SCENARIO_UNKNOWN:
	case AL_SCENARIO_MISSING:
		break;
	case AL_SCENARIO_NUMBER:
		al_cell_set_exact(out, cell, value->number);
		if (!value->datum)
			break;
		/* Printed as its source prints it: with its last digit and its spread. */
		cell->digits = value->datum->digits;
		cell->spread_digits = value->datum->spread_digits;
		if (value->datum->spread)
			cell->spread = al_exact_copy(&out->arena, value->datum->spread);
		break;
	case AL_SCENARIO_POLYNOMIAL:
		al_cell_set_polynomial(out, cell, value->polynomial, s->catalog);
		break;
	case AL_SCENARIO_ORDER:
		al_cell_set_order(out, cell, table->order, value->order, s->catalog);
		break;
	}
}

static bool fill(struct al_cell_place place, const struct al_shown_column *shown,
	struct al_table *out, struct al_cell *cell, struct al_error *err)
{
	const struct al_scenario *s = place.evaluator->scenario;
	AL_SCENARIO_CELL(value);

	if (shown->variant)
		place.row.variant = shown->variant;
	if (!al_cell_value(&place, shown->column->column.key, &value, err))
		return al_in(err, "%s", s->file);
	set_cell(s, place.table, &value, out, cell);
	return al_significance_mark(&place, shown->column, value.datum, &cell->mark, err)
		|| al_in(err, "%s", s->file);
}

static void name_row(const struct al_cell_place *place, struct al_table *out, struct al_cell **cell)
{
	const struct al_scenario_row *row = &place->row;

	if (place->table->shows_case) {
		al_cell_set_titled(out, *cell, row->case_->id, row->case_->title);
		++*cell;
	}
	if (place->table->shows_variant && row->variant)
		al_cell_set_titled(out, *cell, row->variant->name, row->variant->title);
	*cell += place->table->shows_variant;
}

static bool build_row(const struct al_cell_place *place, struct al_table *out, struct al_error *err)
{
	const struct al_scenario_table *table = place->table;
	struct al_cell *cell = al_table_add_row(out);

	name_row(place, out, &cell);
	for (size_t i = 0; i < table->n_shown; i++)
		if (!fill(*place, &table->shown[i], out, cell++, err))
			return false;
	return true;
}

/* ---- notes ---- */

/* Which conventions a table's numbers depend on. */
struct needs {
	const struct al_scenario *scenario;
	bool basis, recipe;
};

static void need_of_kind(struct needs *needs, const struct al_column_kind *kind)
{
	needs->basis = needs->basis || kind->needs_basis;
	needs->recipe = needs->recipe || kind->needs_recipe;
}

static void need_of_name(void *context, const char *name)
{
	struct needs *needs = context;
	struct al_column_kind kind = al_column_kind_of(needs->scenario, name);

	need_of_kind(needs, &kind);
}

static struct needs needs_of(const struct al_scenario *s, const struct al_scenario_table *table)
{
	struct needs needs = {.scenario = s};

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_scenario_column *column = &table->columns[i];
		if (column->formula)
			al_formula_each_symbol(column->formula, need_of_name, &needs);
		else
			need_of_kind(&needs, column->kind);
	}
	return needs;
}

/* The conventions that the numbers follow, where the table has any that depend on them. */
static bool add_notes(const struct al_scenario *s, const struct al_scenario_table *table,
	struct al_table *out, struct al_error *err)
{
	const struct al_case *case_ = table->n_rows ? table->rows[0].case_ : &s->base;
	const struct needs needs = needs_of(s, table);
	AL_ENDS(al_request_finish) struct al_request q = {0};

	if (!needs.basis)
		return true;
	if (!al_case_ask(&q, case_, &table->changes, table->id, err))
		return false;
	al_basis_note(&q.basis, out);
	if (needs.recipe && q.recipe)
		al_table_note(out, "recipe: %s (%s)", q.recipe->name, q.recipe->source);
	return true;
}

static void add_columns(const struct al_scenario_table *table, struct al_table *out)
{
	add_key_columns(table, out);
	for (size_t i = 0; i < table->n_shown; i++) {
		const struct al_shown_column *shown = &table->shown[i];
		al_table_add_column(out,
			table->is_pivoted && !shown->column->is_once ? pivoted_column(shown, out)
								     : shown->column->column);
	}
}

static bool build_rows(struct al_evaluator *evaluator, const struct al_scenario_table *table,
	struct al_table *out, struct al_error *err)
{
	for (size_t i = 0; i < table->n_rows; i++) {
		const struct al_cell_place place = {.evaluator = evaluator,
			.table = table,
			.row = table->rows[i]};
		if (!build_row(&place, out, err))
			return false;
	}
	return true;
}

bool al_table_build(struct al_evaluator *evaluator, const struct al_scenario_table *table,
	struct al_table *out, struct al_error *err)
{
	al_table_init(out, table->id, table->title);
	out->spread_form = table->spread_form;
	out->placing = table->placing;
	out->placing.hides_notes = !table->shows_notes;
	add_columns(table, out);
	if (!build_rows(evaluator, table, out, err)
		|| !add_notes(evaluator->scenario, table, out, err))
		return false;
	/* A note on what some variants' files don't list. */
	const size_t index = (size_t)(table - evaluator->scenario->tables);
	for (const struct al_memo *memo = evaluator->memos[index]; memo; memo = memo->next)
		if (memo->undeclared.variant)
			al_note_undeclared(&memo->undeclared, out);
	al_significance_note(table, out);
	al_table_mark_best(table, out);
	return al_table_arrange(&table->arrangement, out, err)
		|| al_in(err, "%s", evaluator->scenario->file);
}
