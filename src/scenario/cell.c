/* Cells: what stands in a table at a row and a key, computed at the point values or at a corner of
 * the box of the data that it uses. */
#include "scenario/memo.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

enum { MOST_NESTED = 16 };

/* One cell's evaluation: also the context of its formula's scope. */
struct evaluation {
	struct al_scenario *s;
	const struct table *table;
	struct row row;
	struct box *box;
	int nested;
	bool is_missing; /* a cell that the formula needs is missing */
	bool is_told; /* the error says which column it is about */
};

void cell_init(struct cell *cell)
{
	*cell = (struct cell){.kind = CELL_MISSING};
	mpq_init(cell->number);
}

void cell_finish(struct cell *cell)
{
	mpq_clear(cell->number);
}

static bool set_number(struct cell *out, mpq_srcptr number)
{
	mpq_set(out->number, number);
	out->kind = CELL_NUMBER;
	return true;
}

static bool set_missing(struct cell *out)
{
	out->kind = CELL_MISSING;
	return true;
}

/* ---- data ---- */

/* Where the datum stands in the box; it is taken in at the point evaluation. */
static bool place_in_box(struct box *box, const struct datum *datum, size_t *place,
	struct al_error *err)
{
	for (*place = 0; *place < box->n; ++*place)
		if (box->used[*place] == datum)
			return true;
	if (box->n == MOST_DATA)
		return al_fail(err, AL_EINPUT, "the value uses more than %d data", MOST_DATA);
	box->used[box->n++] = datum;
	return true;
}

bool datum_value(struct box *box, const struct datum *datum, struct cell *out, struct al_error *err)
{
	size_t place;

	if (!datum || !datum->printed)
		return set_missing(out);
	out->spread = datum->spread;
	if (!box || mpq_equal(datum->low, datum->high))
		return set_number(out, datum->value);
	if (!place_in_box(box, datum, &place, err))
		return false;
	if (!box->is_corner)
		return set_number(out, datum->value);
	return set_number(out, (box->corner >> place) & 1 ? datum->high : datum->low);
}

bool spend(struct al_scenario *s, size_t look_ups, struct al_error *err)
{
	s->n_look_ups += look_ups;
	return s->n_look_ups <= MOST_LOOK_UPS
		|| al_fail(err, AL_EINPUT, "more than %d cells are looked up", MOST_LOOK_UPS);
}

static bool score(struct evaluation *e, const char *metric, struct row row, struct cell *out,
	enum direction *direction, struct al_error *err)
{
	const struct data_set *set;
	size_t column;

	if (!find_metric(e->s, metric, &set, &column))
		return al_fail(err, AL_EINPUT, "no data for the metric \"%s\"", metric);
	*direction = set->columns[column].direction;
	return spend(e->s, set->n_rows / 16, err)
		&& datum_value(e->box,
			find_datum(set, row.kase->id, row.variant ? row.variant->use.name : NULL,
				column),
			out, err);
}

/* ---- measures ---- */

static bool measure(struct evaluation *e, struct row row, enum al_measure which, struct cell *out,
	struct al_error *err)
{
	struct memo *memo;

	if (!row.variant)
		return al_fail(err, AL_EINPUT, "table \"%s\": %s of a case needs a variant",
			e->table->id, al_measures[which].key);
	if (!row.variant->use.variant)
		return set_missing(out);
	if (!find_memo(e->s, e->table, row, &memo, err))
		return false;
	if (!memo->measures[which]) {
		if (!al_block_measure(&memo->block, which, memo->conditions.recipe, out->number,
			    err))
			return al_in(err, "table \"%s\"", e->table->id);
		memo->measures[which] = al_exact_copy(&e->s->arena, out->number);
	}
	return set_number(out, memo->measures[which]);
}

static bool need_reference(const struct evaluation *e, const struct variant *reference,
	const char *key, const char *column, struct al_error *err)
{
	return reference
		|| al_fail(err, AL_EINPUT, "table \"%s\": column \"%s\" needs the key \"%s\"",
			e->table->id, column, key);
}

static struct row of_variant(const struct evaluation *e, const struct variant *variant)
{
	return (struct row){e->row.kase, variant};
}

/* The percentage of `total` that the row saves against the baseline. */
static bool saving(struct evaluation *e, struct cell *out, struct al_error *err)
{
	struct cell base;

	if (!need_reference(e, e->table->baseline, "baseline", "saving", err)
		|| !measure(e, e->row, AL_TOTAL, out, err))
		return false;
	cell_init(&base);
	bool ok = measure(e, of_variant(e, e->table->baseline), AL_TOTAL, &base, err);
	bool is_known = out->kind != CELL_MISSING && base.kind != CELL_MISSING;
	if (ok && (!is_known || !al_exact_saving(out->number, out->number, base.number)))
		set_missing(out);
	cell_finish(&base);
	return ok;
}

/* ---- metrics ---- */

static bool check_direction(enum direction direction, const char *metric, struct al_error *err)
{
	return direction != PLAIN
		|| al_fail(err, AL_EINPUT,
			"metric \"%s\" does not say whether higher or lower is better", metric);
}

static bool retention(struct evaluation *e, const char *metric, struct cell *out,
	struct al_error *err)
{
	struct cell reference;
	enum direction direction;

	if (!need_reference(e, e->table->retention, "retention", "prr", err)
		|| !score(e, metric, e->row, out, &direction, err)
		|| !check_direction(direction, metric, err))
		return false;
	cell_init(&reference);
	bool ok = score(e, metric, of_variant(e, e->table->retention), &reference, &direction, err);
	if (ok
		&& (out->kind == CELL_MISSING || reference.kind == CELL_MISSING
			|| mpq_sgn(reference.number) == 0))
		set_missing(out);
	else if (ok)
		out->kind = al_retention(out->number, out->number, reference.number,
				    direction == HIGHER_IS_BETTER)
			? CELL_NUMBER
			: CELL_MISSING;
	out->spread = NULL;
	cell_finish(&reference);
	return ok;
}

/* The four numbers of an elasticity: score, base score, parameters, base parameters. */
static bool elasticity_parts(struct evaluation *e, const char *metric, struct cell parts[4],
	enum direction *direction, struct al_error *err)
{
	struct row base = of_variant(e, e->table->elasticity);

	return score(e, metric, e->row, &parts[0], direction, err)
		&& score(e, metric, base, &parts[1], direction, err)
		&& check_direction(*direction, metric, err)
		&& measure(e, e->row, AL_PARAMETERS, &parts[2], err)
		&& measure(e, base, AL_PARAMETERS, &parts[3], err);
}

static bool elasticity(struct evaluation *e, const char *metric, struct cell *out,
	struct al_error *err)
{
	struct cell parts[4];
	enum direction direction = PLAIN;
	bool is_missing = false;

	if (!need_reference(e, e->table->elasticity, "elasticity", "peop", err))
		return false;
	for (int i = 0; i < 4; i++)
		cell_init(&parts[i]);
	bool ok = elasticity_parts(e, metric, parts, &direction, err);
	for (int i = 0; i < 4; i++)
		is_missing = is_missing || parts[i].kind == CELL_MISSING;
	set_missing(out);
	if (ok && !is_missing && mpq_sgn(parts[1].number) != 0 && mpq_sgn(parts[3].number) != 0
		&& al_elasticity(out->number, parts[0].number, parts[1].number, parts[2].number,
			parts[3].number, direction == HIGHER_IS_BETTER))
		out->kind = CELL_NUMBER;
	for (int i = 0; i < 4; i++)
		cell_finish(&parts[i]);
	return ok;
}

/* ---- polynomials ---- */

static bool row_polynomial(struct evaluation *e, struct row row, struct memo **memo,
	struct al_error *err)
{
	if (!find_memo(e->s, e->table, row, memo, err))
		return false;
	return (*memo)->formula
		|| al_block_polynomial(&(*memo)->block, e->table->substitutions,
			e->table->n_substitutions, &(*memo)->formula, err);
}

static bool difference(struct evaluation *e, struct memo *memo, struct al_error *err)
{
	struct memo *against;

	if (memo->difference)
		return true;
	return need_reference(e, e->table->against, "against", "difference", err)
		&& row_polynomial(e, of_variant(e, e->table->against), &against, err)
		&& al_polynomial_difference(memo->formula, against->formula, &memo->difference,
			err);
}

static bool order(struct evaluation *e, struct memo *memo, struct cell *out, struct al_error *err)
{
	if (!e->table->order)
		return al_fail(err, AL_EINPUT,
			"table \"%s\": column \"order\" needs the key \"order\"", e->table->id);
	out->kind = CELL_ORDER;
	return al_polynomial_degree(memo->formula, e->table->order, &out->order, err);
}

static bool theory(struct evaluation *e, const char *key, struct cell *out, struct al_error *err)
{
	struct memo *memo;

	if (!e->row.variant || !e->row.variant->use.variant)
		return set_missing(out);
	if (!row_polynomial(e, e->row, &memo, err))
		return al_in(err, "table \"%s\"", e->table->id);
	if (strcmp(key, "order") == 0)
		return order(e, memo, out, err);
	out->kind = CELL_POLYNOMIAL;
	if (strcmp(key, "formula") == 0)
		return out->polynomial = memo->formula, true;
	if (!difference(e, memo, err))
		return false;
	out->polynomial = memo->difference;
	return true;
}

/* ---- symbols and formulas ---- */

static bool symbol(struct evaluation *e, const char *name, bool *found, struct cell *out,
	struct al_error *err)
{
	const struct al_setting *setting;
	struct memo *memo;

	if (!find_memo(e->s, e->table, e->row, &memo, err))
		return false;
	struct al_settings *settings = memo->has_block ? &memo->block.settings
						       : &memo->conditions.settings;
	if (!al_settings_get(settings, name, &setting, err))
		return false;
	*found = setting && setting->value.kind == AL_VALUE_INTEGER;
	if (*found) {
		al_exact_set(out->number, setting->value.integer);
		out->kind = CELL_NUMBER;
	}
	return true;
}

static bool modules(struct evaluation *e, struct cell *out, struct al_error *err)
{
	struct memo *memo;
	int64_t n;

	if (!find_memo(e->s, e->table, e->row, &memo, err))
		return false;
	if (!memo->has_block)
		return set_missing(out);
	if (!al_block_modules(&memo->block, &n, err))
		return false;
	al_exact_set(out->number, n);
	out->kind = CELL_NUMBER;
	return true;
}

static bool evaluate(struct evaluation *e, const char *key, bool *found, struct cell *out,
	struct al_error *err);

/* The row that NAME[ROW] asks, seen from this one. */
static bool other_row(const struct evaluation *e, const char *text, struct row *row,
	struct al_error *err)
{
	const char *comma = strchr(text, ',');

	*row = e->row;
	if (!comma && e->table->kind == ROWS_CASES)
		return (row->kase = find_case(e->s, text, err)) != NULL;
	if (!comma)
		return (row->variant = find_variant(e->s, text, err)) != NULL;

	struct al_arena arena;
	al_arena_init(&arena);
	row->kase = find_case(e->s, al_strndup(&arena, text, (size_t)(comma - text)), err);
	row->variant = row->kase ? find_variant(e->s, comma + 1, err) : NULL;
	al_arena_finish(&arena);
	return row->kase && row->variant;
}

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *value, struct al_error *err)
{
	struct evaluation *outer = context;
	struct evaluation inner = *outer;
	struct cell cell;

	inner.nested++;
	if (inner.nested > MOST_NESTED)
		return al_fail(err, AL_EINPUT, "column \"%s\" refers to itself", reference->symbol);
	if (reference->row && !other_row(outer, reference->row, &inner.row, err))
		return false;
	cell_init(&cell);
	bool ok = evaluate(&inner, reference->symbol, found, &cell, err);
	if (ok && *found && cell.kind == CELL_MISSING) {
		outer->is_missing = true;
		ok = false;
	} else if (ok && *found && cell.kind != CELL_NUMBER)
		ok = al_fail(err, AL_EINPUT, "\"%s\" is a formula, expected a number",
			reference->symbol);
	else if (ok && *found)
		al_value_set_exact(value, cell.number);
	outer->is_missing = outer->is_missing || inner.is_missing;
	outer->is_told = inner.is_told;
	cell_finish(&cell);
	return ok;
}

/* What a formula may name, for the message about a wrong name. */
static size_t known_names(void *context, const char *const **out)
{
	const struct evaluation *e = context;
	struct al_scenario *s = e->s;
	size_t n = 0, room = e->table->n_columns + AL_N_MEASURES + s->n_symbols;

	for (size_t i = 0; i < s->n_data; i++)
		room += s->data[i].n_columns;
	const char **names = al_new_array(&s->arena, const char *, room);
	for (size_t i = 0; i < e->table->n_columns; i++)
		names[n++] = e->table->columns[i].column.key;
	for (int i = 0; i < AL_N_MEASURES; i++)
		names[n++] = al_measures[i].key;
	for (size_t i = 0; i < s->n_data; i++)
		for (size_t j = 0; j < s->data[i].n_columns; j++)
			names[n++] = s->data[i].columns[j].name;
	for (size_t i = 0; i < s->n_symbols; i++)
		names[n++] = s->symbols[i].name;
	*out = names;
	return n;
}

static bool formula(struct evaluation *e, const struct al_formula *text, struct cell *out,
	struct al_error *err)
{
	struct al_scope scope = {.lookup = look_up, .known = known_names, .context = e};
	struct al_value value;

	al_value_init(&value);
	bool ok = al_formula_eval(text, &scope, &value, err);
	if (ok && value.kind == AL_VALUE_WORD)
		ok = al_fail(err, AL_EINPUT, "the formula is a word, expected a number");
	if (ok) {
		al_value_get(&value, out->number);
		out->kind = CELL_NUMBER;
	} else if (e->is_missing)
		ok = set_missing(out);
	al_value_finish(&value);
	return ok;
}

/* ---- any key ---- */

static const struct table_column *find_column(const struct table *table, const char *key)
{
	for (size_t i = 0; i < table->n_columns; i++)
		if (strcmp(table->columns[i].column.key, key) == 0)
			return &table->columns[i];
	return NULL;
}

static bool evaluate(struct evaluation *e, const char *key, bool *found, struct cell *out,
	struct al_error *err)
{
	const struct table_column *column = find_column(e->table, key);
	const struct data_set *set;
	enum direction direction;
	size_t i;
	int which = al_measure_find(key);

	*found = true;
	if (!spend(e->s, 1, err))
		return false;
	if (column && column->formula) {
		if (formula(e, column->formula, out, err))
			return true;
		if (!e->is_told)
			al_in(err, "table \"%s\", column \"%s\"", e->table->id, key);
		e->is_told = true;
		return false;
	}
	if (strncmp(key, "score:", 6) == 0)
		return score(e, key + 6, e->row, out, &direction, err);
	if (strncmp(key, "prr:", 4) == 0)
		return retention(e, key + 4, out, err);
	if (strncmp(key, "peop:", 5) == 0)
		return elasticity(e, key + 5, out, err);
	if (strcmp(key, "saving") == 0)
		return saving(e, out, err);
	if (strcmp(key, "modules") == 0)
		return modules(e, out, err);
	if (strcmp(key, "formula") == 0 || strcmp(key, "difference") == 0
		|| strcmp(key, "order") == 0)
		return theory(e, key, out, err);
	if (which >= 0)
		return measure(e, e->row, (enum al_measure)which, out, err);
	if (find_metric(e->s, key, &set, &i))
		return score(e, key, e->row, out, &direction, err);
	return symbol(e, key, found, out, err);
}

static bool fail_unknown_column(const struct al_scenario *s, const struct table *table,
	const char *key, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < table->n_columns; i++)
		al_names_add(&names, table->columns[i].column.key);
	add_column_keys(s, &names);
	al_names_fail(&names, "column", key, err);
	return al_in(err, "table \"%s\"", table->id);
}

bool cell_value(struct al_scenario *s, const struct table *table, struct row row, const char *key,
	struct box *box, struct cell *out, struct al_error *err)
{
	struct evaluation e = {.s = s, .table = table, .row = row, .box = box};
	bool found;

	if (!evaluate(&e, key, &found, out, err))
		return false;
	return found || fail_unknown_column(s, table, key, err);
}
