/* Marking the best and the second best cells of a table: within each case, among the variants that
 * compete. */
#include "scenario/build.h"

#include "scenario/printed.h"

/* Cells that compete with each other, [n]; each is below `column`. */
struct contest {
	struct al_arena *arena;
	struct al_cell **cells;
	mpq_srcptr *numbers; /* as they are read: of 99.42 and 99.38 with one decimal neither is the
				better */
	size_t n;
	const struct al_column *column;
	enum al_direction direction;
	bool has_second;
};

static void add(struct contest *contest, struct al_cell *cell)
{
	if (cell->kind != AL_CELL_EXACT)
		return;
	mpq_ptr number = al_exact_new(contest->arena);
	mpq_set(number, cell->exact);
	al_exact_divide(number, al_unit_factor(contest->column->scale));
	if (contest->column->digits != AL_DIGITS_ALL)
		al_exact_round(number, number, contest->column->digits);
	contest->numbers[contest->n] = number;
	contest->cells[contest->n++] = cell;
}

/* Below 0, 0 or above: is a worse than b, as good, or better? */
static int compare(const struct contest *contest, size_t a, size_t b)
{
	const int order = mpq_cmp(contest->numbers[a], contest->numbers[b]);

	return contest->direction == AL_HIGHER_IS_BETTER ? order : -order;
}

/* The best of those that aren't marked as the best already; n: there are none. */
static size_t find_best(const struct contest *contest)
{
	size_t best = contest->n;

	for (size_t i = 0; i < contest->n; i++)
		if (!contest->cells[i]->is_best
			&& (best == contest->n || compare(contest, i, best) > 0))
			best = i;
	return best;
}

static void judge(struct contest *contest)
{
	const size_t n = contest->n, best = find_best(contest);

	for (size_t i = 0; i < n; i++)
		contest->cells[i]->is_best = compare(contest, i, best) == 0;
	const size_t second = contest->has_second ? find_best(contest) : n;
	for (size_t i = 0; i < n && second < n; i++)
		contest->cells[i]->is_second = compare(contest, i, second) == 0;
	contest->n = 0;
}

static bool competes(const struct al_scenario_table *table,
	const struct al_configured_variant *variant)
{
	if (!table->best_among)
		return true;
	for (size_t i = 0; i < table->n_best_among; i++)
		if (table->best_among[i] == variant)
			return true;
	return false;
}

static int by_case(const void *a, const void *b)
{
	const struct al_scenario_row *const *left = a, *const *right = b;

	if ((*left)->case_ != (*right)->case_)
		return (*left)->case_ < (*right)->case_ ? -1 : 1;
	return *left < *right ? -1 : *left > *right;
}

/* The rows, case by case where variants compete within a case. */
static const struct al_scenario_row **sort_rows(const struct al_scenario_table *table,
	struct al_arena *arena)
{
	const struct al_scenario_row **rows = al_new_array(arena, const struct al_scenario_row *,
		table->n_rows + 1);

	for (size_t i = 0; i < table->n_rows; i++)
		rows[i] = &table->rows[i];
	if (table->shows_variant)
		qsort(rows, table->n_rows, sizeof(*rows), by_case);
	return rows;
}

/* One below the other: a contest a case, or one where rows have no variants. */
static void judge_column(const struct al_scenario_table *table,
	const struct al_scenario_row *const *rows, struct al_table *out, size_t column,
	struct contest *contest)
{
	contest->column = &out->columns[column];
	for (size_t i = 0; i < table->n_rows; i++) {
		if (i > 0 && table->shows_variant && rows[i]->case_ != rows[i - 1]->case_)
			judge(contest);
		if (competes(table, rows[i]->variant))
			add(contest, &out->rows[rows[i] - table->rows][column]);
	}
	judge(contest);
}

/* Side by side, the `n` columns from the one at `first` on: a contest a row. */
static void judge_group(const struct al_scenario_table *table, const struct al_shown_column *shown,
	size_t n, struct al_table *out, size_t first, struct contest *contest)
{
	contest->column = &out->columns[first];
	for (size_t row = 0; row < out->n_rows; row++) {
		for (size_t i = 0; i < n; i++)
			if (competes(table, shown[i].variant))
				add(contest, &out->rows[row][first + i]);
		judge(contest);
	}
}

/* How many columns from here on show the same, each of another variant. */
static size_t width_of(const struct al_scenario_table *table, size_t first)
{
	size_t n = 1;

	while (first + n < table->n_shown
		&& table->shown[first + n].column == table->shown[first].column)
		n++;
	return n;
}

void al_table_mark_best(const struct al_scenario_table *table, struct al_table *out)
{
	const size_t n_keys = (size_t)table->shows_case + (size_t)table->shows_variant;
	struct contest contest = {.arena = &out->arena, .has_second = table->marks_second};

	if (!table->marks_best)
		return;
	contest.cells = al_new_array(&out->arena, struct al_cell *, out->n_rows + out->n_columns);
	contest.numbers = al_new_array(&out->arena, mpq_srcptr, out->n_rows + out->n_columns);
	const struct al_scenario_row **rows = sort_rows(table, &out->arena);
	for (size_t i = 0, n; i < table->n_shown; i += n) {
		const struct al_scenario_column *column = table->shown[i].column;
		n = width_of(table, i);
		contest.direction = column->best;
		if (column->best != AL_PLAIN && !table->is_pivoted)
			judge_column(table, rows, out, n_keys + i, &contest);
		else if (column->best != AL_PLAIN && !column->is_once)
			judge_group(table, &table->shown[i], n, out, n_keys + i, &contest);
	}
}
