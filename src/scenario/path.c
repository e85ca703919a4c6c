/* Paths: what a claim's value names.
 *
 *   TABLE/ROW/COLUMN         ROW: VARIANT, CASE or CASE/VARIANT
 *   SWEEP/VARIANT/SYMBOL=VALUE[,SYMBOL=VALUE][/MEASURE]
 *   DATA/[CASE/][VARIANT/]COLUMN
 *   QUESTION/NUMBER or QUESTION/ROW/COLUMN */
#include "scenario/search.h"

#include "scenario/cell.h"

enum {
	MOST_PARTS = 5,
	A_BLOCK = 64, /* look-ups that making a block is worth */
};

struct path {
	const char *parts[MOST_PARTS];
	size_t n;
	char text[128]; /* of a short one, its parts each terminated: millions are looked up */
};

static bool split(struct al_arena *arena, const char *text, struct path *path, struct al_error *err)
{
	const size_t size = strlen(text) + 1;
	char *rest = size <= sizeof(path->text) ? memcpy(path->text, text, size)
						: al_strdup(arena, text);

	path->n = 0;
	while (rest) {
		if (path->n == MOST_PARTS)
			return al_fail(err, AL_EINPUT, "path \"%s\" has too many parts", text);
		char *slash = strchr(rest, '/');
		if (slash)
			*slash = '\0';
		path->parts[path->n++] = rest;
		rest = slash ? slash + 1 : NULL;
	}
	return true;
}

/* ---- tables ---- */

/* The row of a table of cases; its variant is the only one, if there is one. */
static bool case_row(const struct al_scenario *s, const struct al_scenario_table *table,
	const char *id, struct al_scenario_row *row, struct al_error *err)
{
	row->variant = NULL;
	row->case_ = al_case_find(s, id, err);
	for (size_t i = 0; row->case_ && i < table->n_rows; i++)
		if (table->rows[i].case_ == row->case_)
			row->variant = table->rows[i].variant;
	return row->case_ != NULL;
}

static bool table_row(const struct al_scenario *s, const struct al_scenario_table *table,
	const struct path *path, struct al_scenario_row *row, struct al_error *err)
{
	if (path->n == 3 && table->kind == AL_ROWS_CASES)
		return case_row(s, table, path->parts[1], row, err);
	if (path->n == 3 && table->kind == AL_ROWS_PRODUCT && table->shows_case)
		return al_fail(err, AL_EINPUT,
			"table \"%s\" has several cases, expected CASE/VARIANT/COLUMN", table->id);
	row->case_ = path->n == 4 ? al_case_find(s, path->parts[1], err)
		: table->n_rows	  ? table->rows[0].case_
				  : &s->cases[0];
	return row->case_
		&& (row->variant = al_variant_find(s, path->parts[path->n - 2], err)) != NULL;
}

static bool find_place(struct al_evaluator *evaluator, const struct al_scenario_table *table,
	const struct path *path, struct al_cell_place *place, struct al_error *err)
{
	*place = (struct al_cell_place){.evaluator = evaluator, .table = table};
	if (path->n < 3 || path->n > 4)
		return al_fail(err, AL_EINPUT, "expected \"%s/ROW/COLUMN\"", table->id);
	return table_row(evaluator->scenario, table, path, &place->row, err);
}

static bool table_value(struct al_evaluator *evaluator, const struct al_scenario_table *table,
	const struct path *path, struct al_data_box *box, struct al_scenario_cell *out,
	const struct al_column **column, struct al_error *err)
{
	const char *key = path->parts[path->n - 1];
	struct al_cell_place place;

	if (!find_place(evaluator, table, path, &place, err))
		return false;
	place.box = box;
	*column = AL_FIND(table->columns, table->n_columns, key);
	return al_cell_value(&place, key, out, err);
}

/* ---- sweeps ---- */

static bool fail_point(const struct al_ledger_sweep *sweep, const char *text, struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"point \"%s\", expected a value for each symbol of sweep \"%s\"", text, sweep->id);
}

/* "n_heads=64,n_layers=48" -> axes of one value each. */
static bool parse_point(struct al_arena *arena, struct al_ledger_sweep *sweep, const char *text,
	struct al_error *err)
{
	const struct al_sweep_axis *axes = sweep->axes;
	char *rest = al_strdup(arena, text);
	size_t n = 0;

	sweep->axes = al_new_array(arena, struct al_sweep_axis, sweep->n_axes);
	for (size_t i = 0; i < sweep->n_axes; i++)
		sweep->axes[i].symbol = axes[i].symbol;
	for (char *item = strtok_r(rest, ",", &rest); item;
		item = strtok_r(NULL, ",", &rest), n++) {
		char *equals = strchr(item, '=');
		if (equals)
			*equals = '\0';
		const struct al_sweep_axis *known = AL_FIND(sweep->axes, sweep->n_axes, item);
		if (!equals || !known || known->list)
			return fail_point(sweep, text, err);
		struct al_sweep_axis *axis = &sweep->axes[known - sweep->axes];
		if (!al_sweep_axis_parse(arena, item, equals + 1, axis, err) || axis->n_list != 1)
			return al_fail(err, AL_EINPUT, "point \"%s\", expected SYMBOL=VALUE", text);
	}
	return n == sweep->n_axes || fail_point(sweep, text, err);
}

static bool read_measure(const struct path *path, enum al_measure *out, struct al_error *err)
{
	int found = path->n == 4 ? al_measure_find(path->parts[3]) : (int)*out;

	if (found < 0)
		return al_fail(err, AL_EINPUT, "no measure \"%s\"", path->parts[3]);
	*out = (enum al_measure)found;
	return true;
}

static bool run_point(const struct al_ledger_sweep *sweep, mpq_t out, struct al_error *err)
{
	struct al_table table;

	if (!al_sweep_run(sweep, &table, err))
		return false;
	const struct al_cell *cell = &table.rows[0][table.n_columns - 1];
	const bool is_known = cell->kind == AL_CELL_EXACT;
	if (is_known)
		mpq_set(out, cell->exact);
	else
		al_fail(err, AL_EINPUT, "sweep \"%s\": %s: %s", sweep->id,
			al_measures[sweep->measures[0]].key, table.notes[0]);
	al_table_finish(&table);
	return is_known;
}

static bool point_value(struct al_evaluator *evaluator, const struct al_scenario_sweep *sweep,
	const struct al_configured_variant *variant, const char *point, enum al_measure measure,
	mpq_t out, struct al_error *err)
{
	AL_ENDS(al_request_finish) struct al_request request = {0};
	struct al_ledger_sweep one;

	if (!al_evaluator_spend(evaluator, A_BLOCK, err)
		|| !al_sweep_of_case(sweep, sweep->cases.items[0], &request, &one, err))
		return false;
	one.variants = &variant;
	one.n_variants = one.n_measures = 1;
	one.measures[0] = measure;
	return parse_point(evaluator->arena, &one, point, err) && run_point(&one, out, err);
}

static bool sweep_value(struct al_evaluator *evaluator, const struct al_scenario_sweep *sweep,
	const struct path *path, struct al_scenario_cell *out, struct al_error *err)
{
	enum al_measure measure = sweep->sweep.measures[0];
	const struct al_configured_variant *variant;

	if (path->n < 3 || path->n > 4)
		return al_fail(err, AL_EINPUT, "expected \"%s/VARIANT/SYMBOL=VALUE\"",
			sweep->sweep.id);
	if (!read_measure(path, &measure, err))
		return false;
	out->kind = AL_SCENARIO_NUMBER;
	return al_variant_find_counted(evaluator->scenario, path->parts[1], &variant, err)
		&& point_value(evaluator, sweep, variant, path->parts[2], measure, out->number,
			err);
}

/* ---- data ---- */

static bool data_row(const struct al_scenario *s, const struct al_data_set *set,
	const struct path *path, struct al_scenario_row *row, struct al_error *err)
{
	const char *const *names = &path->parts[1];

	*row = (struct al_scenario_row){.case_ = &s->cases[0]};
	return (!set->has_case || (row->case_ = al_case_find(s, *names++, err)))
		&& (!set->has_variant || (row->variant = al_variant_find(s, *names, err)));
}

static bool data_value(struct al_evaluator *evaluator, const struct al_data_set *set,
	const struct path *path, struct al_data_box *box, struct al_scenario_cell *out,
	struct al_error *err)
{
	size_t expected = 2 + (size_t)set->has_case + (size_t)set->has_variant;
	struct al_scenario_row row;

	if (path->n != expected)
		return al_fail(err, AL_EINPUT, "expected \"%s/%s%sCOLUMN\"", set->id,
			set->has_case ? "CASE/" : "", set->has_variant ? "VARIANT/" : "");
	if (!data_row(evaluator->scenario, set, path, &row, err))
		return false;
	const char *name = path->parts[path->n - 1];
	const struct al_data_column *column = AL_FIND_KNOWN(set->columns, set->n_columns, "column",
		name, err);
	if (!column)
		return al_in(err, "data set \"%s\"", set->id);
	return al_evaluator_spend(evaluator, 1 + set->n_rows / 16, err)
		&& al_scenario_cell_set_datum(out, box,
			al_datum_find(set, row, (size_t)(column - set->columns)), err);
}

/* ---- any path ---- */

bool al_path_value(struct al_evaluator *evaluator, const char *text, struct al_data_box *box,
	struct al_scenario_cell *out, const struct al_column **column, struct al_error *err)
{
	const struct al_scenario *s = evaluator->scenario;
	struct path path;
	AL_ARENA(arena);

	*column = NULL;
	if (!split(&arena, text, &path, err))
		return false;
	const struct al_scenario_table *table = AL_PART(s, tables, path.parts[0]);
	const struct al_scenario_sweep *sweep = AL_PART(s, sweeps, path.parts[0]);
	const struct al_data_set *set = AL_PART(s, data, path.parts[0]);
	const struct al_scenario_question *question = AL_PART(s, questions, path.parts[0]);
	return table	? table_value(evaluator, table, &path, box, out, column, err)
		: sweep ? sweep_value(evaluator, sweep, &path, out, err)
		: set	? data_value(evaluator, set, &path, box, out, err)
		: question
		? al_question_value(evaluator, question, &path.parts[1], path.n - 1, box, out, err)
		: al_unknown_fail(s, AL_NAMES_DRAWABLE | AL_NAMES_DATA | AL_NAMES_QUESTIONS,
			"table, sweep, data set or question", path.parts[0], err);
}

/* A claim on no cell of a table is a datum, or follows from none. */
static bool enclose_alone(struct al_evaluator *evaluator, const char *text, struct al_interval *out,
	struct al_error *err)
{
	struct al_data_box box = {0};
	const struct al_column *column;
	AL_SCENARIO_CELL(cell);

	if (!al_path_value(evaluator, text, &box, &cell, &column, err))
		return false;
	if (cell.kind != AL_SCENARIO_NUMBER)
		al_interval_set_any(out);
	else
		al_interval_set(out, cell.datum ? cell.datum->low : cell.number,
			cell.datum ? cell.datum->high : cell.number);
	return true;
}

bool al_path_enclose(struct al_evaluator *evaluator, const char *text, struct al_interval *out,
	struct al_error *err)
{
	struct al_cell_place place;
	struct path path;
	AL_ARENA(arena);

	if (!split(&arena, text, &path, err))
		return false;
	const struct al_scenario_table *table = AL_PART(evaluator->scenario, tables, path.parts[0]);
	if (!table)
		return enclose_alone(evaluator, text, out, err);
	return find_place(evaluator, table, &path, &place, err)
		&& al_cell_enclose(&place, path.parts[path.n - 1], out, err);
}
