/* Building a table of a scenario: its columns, its rows, its notes. */
#include "scenario/internal.h"

#include <string.h>

#include "base/text.h"

static void add_key_columns(const struct table *table, struct al_table *out)
{
	if (table->shows_case)
		al_table_add_column(out,
			(struct al_column){.key = "case", .title = "Case", .is_key = true});
	if (table->shows_variant)
		al_table_add_column(out,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
}

/* The variants that a column of a pivoted table shows; a column that stands once shows its
 * first. */
static const struct variant *const *pivot_of(const struct table *table,
	const struct table_column *column, size_t *n)
{
	*n = column->only ? column->n_only : table->n_pivoted;
	if (column->is_once && *n > 1)
		*n = 1;
	return column->only ? column->only : table->pivoted;
}

/* A column once a variant: "parameters:mha", the column's title over the variants' names. */
static void add_pivoted_column(const struct table *table, const struct table_column *wanted,
	struct al_table *out)
{
	size_t n;
	const struct variant *const *variants = pivot_of(table, wanted, &n);

	if (wanted->is_once) {
		al_table_add_column(out, wanted->column);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct al_column column = wanted->column;
		const char *title = column.title ? column.title : column.key;
		column.group = column.group ? al_format(&out->arena, "%s %s", column.group, title)
					    : title;
		column.title = variants[i]->use.title ? variants[i]->use.title
						      : variants[i]->use.name;
		column.key = al_format(&out->arena, "%s:%s", column.key, variants[i]->use.name);
		al_table_add_column(out, column);
	}
}

/* ---- cells ---- */

static void set_order(struct al_scenario *s, const struct table *table, int order,
	struct al_table *out, struct al_cell *cell)
{
	const char *latex = al_catalog_latex(s->catalog, table->order);

	if (order == 0)
		al_cell_set_latex(out, cell, "O(1)", "$O(1)$");
	else if (order == 1)
		al_cell_set_latex(out, cell, al_format(&out->arena, "O(%s)", table->order),
			al_format(&out->arena, "$O(%s)$", latex));
	else
		al_cell_set_latex(out, cell,
			al_format(&out->arena, "O(%s^%d)", table->order, order),
			al_format(&out->arena, "$O(%s^{%d})$", latex, order));
}

static void set_polynomial(struct al_scenario *s, const struct al_polynomial *polynomial,
	struct al_table *out, struct al_cell *cell)
{
	struct al_text text, latex;

	al_text_init(&text);
	al_text_init(&latex);
	al_polynomial_text(polynomial, &text);
	al_text_add(&latex, "$");
	al_polynomial_latex(polynomial, al_catalog_latex, s->catalog, &latex);
	al_text_add(&latex, "$");
	al_cell_set_latex(out, cell, text.data, latex.data);
	al_text_finish(&text);
	al_text_finish(&latex);
}

static void set_cell(struct al_scenario *s, const struct table *table, const struct cell *value,
	struct al_table *out, struct al_cell *cell)
{
	switch (value->kind) {
	case CELL_MISSING:
		break;
	case CELL_NUMBER:
		al_cell_set_exact(out, cell, value->number);
		if (value->spread)
			cell->spread = al_exact_copy(&out->arena, value->spread);
		break;
	case CELL_POLYNOMIAL:
		set_polynomial(s, value->polynomial, out, cell);
		break;
	case CELL_ORDER:
		set_order(s, table, value->order, out, cell);
		break;
	}
}

static bool fill(struct al_scenario *s, const struct table *table, struct row row,
	const struct table_column *column, struct al_table *out, struct al_cell *cell,
	struct al_error *err)
{
	struct cell value;

	cell_init(&value);
	bool ok = cell_value(s, table, row, column->column.key, NULL, &value, err);
	if (ok)
		set_cell(s, table, &value, out, cell);
	cell_finish(&value);
	return ok || al_in(err, "%s", s->file);
}

static void name_row(struct row row, const struct table *table, struct al_table *out,
	struct al_cell **cell)
{
	if (table->shows_case) {
		al_cell_set_titled(out, *cell, row.kase->id, row.kase->title);
		++*cell;
	}
	if (table->shows_variant && row.variant)
		al_cell_set_titled(out, *cell, row.variant->use.name, row.variant->use.title);
	*cell += table->shows_variant;
}

static bool fill_pivoted(struct al_scenario *s, const struct table *table, struct row row,
	const struct table_column *column, struct al_table *out, struct al_cell **cell,
	struct al_error *err)
{
	size_t n;
	const struct variant *const *variants = pivot_of(table, column, &n);

	for (size_t i = 0; i < n; i++)
		if (!fill(s, table, (struct row){row.kase, variants[i]}, column, out, (*cell)++,
			    err))
			return false;
	if (n == 0 && column->is_once)
		return fill(s, table, row, column, out, (*cell)++, err);
	return true;
}

static bool build_row(struct al_scenario *s, const struct table *table, struct row row,
	struct al_table *out, struct al_error *err)
{
	struct al_cell *cell = al_table_add_row(out);

	name_row(row, table, out, &cell);
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct table_column *column = &table->columns[i];
		if (table->is_pivoted ? !fill_pivoted(s, table, row, column, out, &cell, err)
				      : !fill(s, table, row, column, out, cell++, err))
			return false;
	}
	return true;
}

/* ---- the best of a column ---- */

static bool is_better(mpq_srcptr a, mpq_srcptr b, enum direction direction)
{
	int order = mpq_cmp(a, b);

	return direction == HIGHER_IS_BETTER ? order > 0 : order < 0;
}

static void mark_best(struct al_table *out, size_t column, enum direction direction)
{
	mpq_srcptr best = NULL;

	for (size_t i = 0; i < out->n_rows; i++) {
		const struct al_cell *cell = &out->rows[i][column];
		if (cell->kind == AL_CELL_EXACT
			&& (!best || is_better(cell->exact, best, direction)))
			best = cell->exact;
	}
	for (size_t i = 0; best && i < out->n_rows; i++) {
		struct al_cell *cell = &out->rows[i][column];
		cell->is_best = cell->kind == AL_CELL_EXACT && mpq_equal(cell->exact, best);
	}
}

static void mark_all(const struct table *table, struct al_table *out)
{
	size_t first = out->n_columns - table->n_columns;

	for (size_t i = 0; table->marks_best && !table->is_pivoted && i < table->n_columns; i++)
		if (table->columns[i].best != PLAIN)
			mark_best(out, first + i, table->columns[i].best);
}

/* ---- notes ---- */

/* Which conventions a table's numbers depend on. */
struct needs {
	bool basis, recipe;
};

static void need_of_name(void *context, const char *name)
{
	struct needs *needs = context;
	int measure = al_measure_find(name);

	if (measure >= 0 || strcmp(name, "saving") == 0)
		needs->basis = true;
	if (measure >= 0 && al_measures[measure].needs_recipe)
		needs->recipe = true;
}

static struct needs needs_of(const struct table *table)
{
	struct needs needs = {0};

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct table_column *column = &table->columns[i];
		const char *key = column->column.key;
		if (column->formula)
			al_formula_each_symbol(column->formula, need_of_name, &needs);
		else
			need_of_name(&needs, key);
		if (strcmp(key, "formula") == 0 || strcmp(key, "difference") == 0
			|| strncmp(key, "peop:", 5) == 0)
			needs.basis = true;
	}
	return needs;
}

/* The conventions behind the numbers, where the table has any that depend on them. */
static bool add_notes(struct al_scenario *s, const struct table *table, struct al_table *out,
	struct al_error *err)
{
	const struct kase *kase = table->n_rows ? table->rows[0].kase : &s->base;
	const struct needs needs = needs_of(table);
	struct al_basis basis = kase->basis;
	const struct al_recipe *recipe = table->changes.recipe ? table->changes.recipe
							       : kase->recipe;

	if (!needs.basis)
		return true;
	if (!change_basis(&basis, &table->changes, err))
		return false;
	al_table_note(out, "basis: %s", al_basis_text(&basis, &out->arena));
	if (needs.recipe && recipe)
		al_table_note(out, "recipe: %s (%s)", recipe->name, recipe->source);
	return true;
}

static bool build_table(struct al_scenario *s, const struct table *table, struct al_table *out,
	struct al_error *err)
{
	al_table_init(out, table->id, table->title);
	add_key_columns(table, out);
	for (size_t i = 0; i < table->n_columns; i++)
		if (table->is_pivoted)
			add_pivoted_column(table, &table->columns[i], out);
		else
			al_table_add_column(out, table->columns[i].column);
	for (size_t i = 0; i < table->n_rows; i++)
		if (!build_row(s, table, table->rows[i], out, err))
			return false;
	mark_all(table, out);
	return add_notes(s, table, out, err);
}

/* ---- sweeps ---- */

bool sweep_under(struct al_scenario *s, const struct sweep *sweep, const struct kase *kase,
	struct conditions *conditions, struct al_sweep *out, struct al_error *err)
{
	if (!conditions_init(conditions, s->catalog, kase, &sweep->changes, err))
		return false;
	*out = sweep->sweep;
	out->settings = &conditions->settings;
	out->basis = &conditions->basis;
	out->recipe = conditions->recipe;
	return true;
}

static bool run_case(struct al_scenario *s, const struct sweep *sweep, const struct kase *kase,
	struct al_table *out, struct al_error *err)
{
	struct conditions conditions;
	struct al_sweep one;

	if (!sweep_under(s, sweep, kase, &conditions, &one, err))
		return false;
	bool ok = al_sweep_run(&one, out, err);
	conditions_finish(&conditions);
	return ok;
}

static void copy_cell(struct al_table *out, struct al_cell *to, const struct al_cell *from)
{
	if (from->kind == AL_CELL_TEXT)
		al_cell_set_titled(out, to, from->text, from->title);
	else if (from->kind == AL_CELL_EXACT)
		al_cell_set_exact(out, to, from->exact);
}

static void append(struct al_table *out, const struct kase *kase, const struct al_table *rows)
{
	if (out->n_columns == 0) {
		al_table_add_column(out,
			(struct al_column){.key = "case", .title = "Case", .is_key = true});
		for (size_t i = 0; i < rows->n_columns; i++)
			al_table_add_column(out, rows->columns[i]);
	}
	for (size_t i = 0; i < rows->n_rows; i++) {
		struct al_cell *cell = al_table_add_row(out);
		al_cell_set_titled(out, cell, kase->id, kase->title);
		for (size_t j = 0; j < rows->n_columns; j++)
			copy_cell(out, &cell[j + 1], &rows->rows[i][j]);
	}
}

static bool build_sweep(struct al_scenario *s, const struct sweep *sweep, struct al_table *out,
	struct al_error *err)
{
	if (!sweep->shows_case)
		return run_case(s, sweep, sweep->cases[0], out, err);
	al_table_init(out, sweep->sweep.id, sweep->sweep.title);
	for (size_t i = 0; i < sweep->n_cases; i++) {
		struct al_table rows;
		if (!run_case(s, sweep, sweep->cases[i], &rows, err)) {
			al_table_finish(out);
			return al_in(err, "case %s", sweep->cases[i]->id);
		}
		append(out, sweep->cases[i], &rows);
		for (size_t j = 0; i == 0 && j < rows.n_notes; j++)
			al_table_note(out, "%s", rows.notes[j]);
		al_table_finish(&rows);
	}
	return true;
}

/* ---- tables and sweeps, in order ---- */

size_t al_scenario_n_tables(const struct al_scenario *scenario)
{
	return scenario->n_tables + scenario->n_sweeps;
}

size_t al_scenario_n_own_tables(const struct al_scenario *scenario)
{
	return scenario->n_tables;
}

bool al_scenario_table(struct al_scenario *scenario, size_t index, struct al_table *out,
	struct al_error *err)
{
	scenario->n_look_ups = 0;
	if (index >= scenario->n_tables)
		return build_sweep(scenario, &scenario->sweeps[index - scenario->n_tables], out,
			       err)
			|| al_in(err, "%s", scenario->file);
	if (build_table(scenario, &scenario->tables[index], out, err))
		return true;
	al_table_finish(out);
	return false;
}

void al_scenario_destroy(struct al_scenario *scenario)
{
	if (!scenario)
		return;
	for (size_t i = 0; i < scenario->n_tables; i++)
		memos_finish(&scenario->tables[i]);
	for (size_t i = 0; i < scenario->n_cases; i++)
		al_settings_finish(&scenario->cases[i].settings);
	al_settings_finish(&scenario->base.settings);
	al_json_finish(&scenario->doc);
	struct al_arena arena = scenario->arena;
	al_arena_finish(&arena);
}
