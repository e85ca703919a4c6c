/* Sorting and pivoting. */
#include "scenario/build.h"

enum { MOST_PIVOTED_ROWS = 5000 }; /* each is looked for among those before it */

/* ---- cells ---- */

/* Below 0, 0 or above: numbers (which are exact here) by size, texts by letters, then what is
 * missing. */
static int compare_cells(const struct al_cell *a, const struct al_cell *b)
{
	if (a->kind != b->kind) /* the kinds are numbered the other way round */
		return (int)b->kind - (int)a->kind;
	if (a->kind == AL_CELL_EXACT)
		return mpq_cmp(a->exact, b->exact);
	return a->kind == AL_CELL_TEXT ? strcmp(a->text, b->text) : 0;
}

static const char *name_of(const struct al_cell *cell, struct al_arena *arena)
{
	if (cell->kind == AL_CELL_TEXT)
		return cell->title ? cell->title : cell->text;
	return cell->kind == AL_CELL_EXACT ? al_exact_text(arena, cell->exact) : "-";
}

/* ---- sorting ---- */

struct sorted {
	struct al_cell *row;
	const struct al_cell *by;
	size_t block, place; /* rows stay in their block; equal ones keep their order */
	bool descends;
};

static int by_block(const void *a, const void *b)
{
	const struct sorted *left = a, *right = b;

	if (left->block != right->block)
		return al_compare(left->block, right->block);
	const int order = compare_cells(left->by, right->by);
	const bool is_missing = left->by->kind == AL_CELL_MISSING
		|| right->by->kind == AL_CELL_MISSING;
	if (order != 0)
		return left->descends && !is_missing ? -order : order;
	return al_compare(left->place, right->place);
}

/* The column, or in a table with columns for each variant the first of them. */
static size_t find_column(const struct al_table *table, const char *key)
{
	const size_t n = strlen(key);

	for (size_t i = 0; i < table->n_columns; i++) {
		const char *own = table->columns[i].key;
		if (strncmp(own, key, n) == 0 && (!own[n] || own[n] == ':'))
			return i;
	}
	return table->n_columns;
}

static void sort(const struct al_arrangement *wanted, struct al_table *table)
{
	const size_t column = find_column(table, wanted->sort_by);
	const bool has_blocks = table->n_columns > 1 && table->columns[0].is_key
		&& table->columns[1].is_key && column != 0;
	struct sorted *rows = al_new_array(&table->arena, struct sorted, table->n_rows);

	if (column == table->n_columns)
		return;
	for (size_t i = 0; i < table->n_rows; i++) {
		const bool is_new = i > 0 && has_blocks
			&& compare_cells(table->rows[i], table->rows[i - 1]) != 0;
		rows[i] = (struct sorted){table->rows[i], &table->rows[i][column],
			i ? rows[i - 1].block + is_new : 0, i, wanted->sort_descends};
	}
	qsort(rows, table->n_rows, sizeof(*rows), by_block);
	for (size_t i = 0; i < table->n_rows; i++)
		table->rows[i] = rows[i].row;
}

/* ---- pivoting ---- */

/* How the columns of a table take part. */
struct pivot {
	struct al_table *table;
	size_t by;
	size_t *keys, n_keys; /* that name the rows */
	size_t *values, n_values;
	const struct al_cell **groups; /* distinct cells of `by`, [n_groups] */
	size_t n_groups;
};

static void part_columns(const struct al_arrangement *wanted, struct pivot *pivot)
{
	struct al_table *table = pivot->table;

	pivot->by = find_column(table, wanted->pivot_by);
	pivot->keys = al_new_array(&table->arena, size_t, table->n_columns);
	pivot->values = al_new_array(&table->arena, size_t, table->n_columns);
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_column *column = &table->columns[i];
		const bool is_key = wanted->n_keys == 0
			? column->is_key
			: al_find_name(column->key, wanted->keys, wanted->n_keys) >= 0;
		if (i != pivot->by && is_key)
			pivot->keys[pivot->n_keys++] = i;
		else if (i != pivot->by && !column->is_key)
			pivot->values[pivot->n_values++] = i;
	}
}

/* The group of a cell of `by`, begun where it is new. */
static size_t find_group(struct pivot *pivot, const struct al_cell *cell)
{
	size_t i = 0;

	while (i < pivot->n_groups && compare_cells(pivot->groups[i], cell) != 0)
		i++;
	if (i == pivot->n_groups)
		pivot->groups[pivot->n_groups++] = cell;
	return i;
}

/* A group's columns are headed by its name; where each group has one column, by what it shows. */
static struct al_column pivoted_column(const struct pivot *pivot, size_t group, size_t value)
{
	struct al_table *table = pivot->table;
	struct al_column column = table->columns[pivot->values[value]];
	const char *name = name_of(pivot->groups[group], &table->arena);
	const char *id = pivot->groups[group]->kind == AL_CELL_TEXT ? pivot->groups[group]->text
								    : name;

	column.key = al_format(&table->arena, "%s:%s", column.key, id);
	if (pivot->n_values == 1) {
		column.group = column.title;
		column.title = name;
	} else {
		column.group = name;
	}
	return column;
}

static struct al_column *pivot_columns(const struct pivot *pivot, size_t n_columns)
{
	struct al_column *columns = al_new_array(&pivot->table->arena, struct al_column, n_columns);
	size_t n = 0;

	for (size_t i = 0; i < pivot->n_keys; i++, n++) {
		columns[n] = pivot->table->columns[pivot->keys[i]];
		columns[n].is_key = true;
	}
	for (size_t group = 0; group < pivot->n_groups; group++)
		for (size_t i = 0; i < pivot->n_values; i++)
			columns[n++] = pivoted_column(pivot, group, i);
	return columns;
}

static bool is_same_row(const struct pivot *pivot, const struct al_cell *turned,
	const struct al_cell *row)
{
	for (size_t i = 0; i < pivot->n_keys; i++)
		if (compare_cells(&turned[i], &row[pivot->keys[i]]) != 0)
			return false;
	return true;
}

/* Puts a row's values into the columns of its group; `taken` are the places that are filled. */
static bool place_row(struct pivot *pivot, struct al_cell *turned, bool *taken,
	const struct al_cell *row, struct al_error *err)
{
	const size_t group = find_group(pivot, &row[pivot->by]);

	if (taken[group])
		return al_fail(err, AL_EINPUT,
			"table \"%s\": two rows of \"%s\" would share a cell of the pivoted table; "
			"add \"keys\" that distinguish them",
			pivot->table->id, name_of(&row[pivot->by], &pivot->table->arena));
	taken[group] = true;
	for (size_t i = 0; i < pivot->n_values; i++)
		turned[pivot->n_keys + group * pivot->n_values + i] = row[pivot->values[i]];
	return true;
}

static bool pivot_rows(struct pivot *pivot, size_t n_columns, struct al_error *err)
{
	struct al_table *table = pivot->table;
	struct al_cell **rows = al_new_array(&table->arena, struct al_cell *, table->n_rows);
	bool **taken = al_new_array(&table->arena, bool *, table->n_rows);
	size_t n = 0;

	for (size_t r = 0; r < table->n_rows; r++) {
		const struct al_cell *row = table->rows[r];
		size_t i = 0;
		while (i < n && !is_same_row(pivot, rows[i], row))
			i++;
		if (i == n) {
			rows[n] = al_new_array(&table->arena, struct al_cell, n_columns);
			taken[n++] = al_new_array(&table->arena, bool, pivot->n_groups);
			for (size_t k = 0; k < pivot->n_keys; k++)
				rows[i][k] = row[pivot->keys[k]];
		}
		if (!place_row(pivot, rows[i], taken[i], row, err))
			return false;
	}
	table->rows = rows;
	table->n_rows = table->rows_room = n;
	return true;
}

static bool turn(const struct al_arrangement *wanted, struct al_table *table, struct al_error *err)
{
	struct pivot pivot = {.table = table};

	if (table->n_rows > MOST_PIVOTED_ROWS)
		return al_fail(err, AL_EINPUT,
			"table \"%s\": %zu rows, expected at most %d to pivot", table->id,
			table->n_rows, MOST_PIVOTED_ROWS);
	part_columns(wanted, &pivot);
	if (pivot.by == table->n_columns || pivot.n_keys == 0)
		return al_fail(err, AL_EINPUT,
			"table \"%s\": nothing but \"%s\" names the rows; add \"keys\"", table->id,
			wanted->pivot_by);
	pivot.groups = al_new_array(&table->arena, const struct al_cell *, table->n_rows);
	for (size_t row = 0; row < table->n_rows; row++)
		find_group(&pivot, &table->rows[row][pivot.by]);
	const size_t n_columns = pivot.n_keys + pivot.n_groups * pivot.n_values;
	if (table->n_rows > 4000000 / n_columns)
		return al_fail(err, AL_EINPUT, "table \"%s\": the pivoted table is too large",
			table->id);
	struct al_column *columns = pivot_columns(&pivot, n_columns);
	if (!pivot_rows(&pivot, n_columns, err))
		return false;
	table->columns = columns;
	table->n_columns = table->columns_room = n_columns;
	return true;
}

bool al_table_arrange(const struct al_arrangement *wanted, struct al_table *table,
	struct al_error *err)
{
	if (wanted->sort_by)
		sort(wanted, table);
	return !wanted->pivot_by || turn(wanted, table, err);
}
