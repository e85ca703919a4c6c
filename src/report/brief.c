/* The short form of a text: the claim, as much of the first table as fits a screen, the
 * assumptions, what is left out, and the next command. */
#include "report/claim.h"
#include "report/writer.h"

enum { SHORT_WIDTH = 80, MOST_TABLES_NAMED = 6, MOST_WARNINGS = 5 };

static size_t count_lines(const struct al_text *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->length; i++)
		n += text->data[i] == '\n';
	return n;
}

/* ---- a table without some of its columns and rows ---- */

static bool is_zero(const struct al_cell *cell)
{
	return (cell->kind == AL_CELL_EXACT && mpq_sgn(cell->exact) == 0)
		|| (cell->kind == AL_CELL_REAL && fpclassify(cell->real) == FP_ZERO);
}

/* Is nothing in a column, or zeros alone? A row on its own keeps its zeros. */
static bool is_empty(const struct al_table *table, size_t column)
{
	for (size_t row = 0; row < table->n_rows; row++) {
		const struct al_cell *cell = &table->rows[row][column];
		if (cell->kind != AL_CELL_MISSING && (table->n_rows == 1 || !is_zero(cell)))
			return false;
	}
	return true;
}

static void drop_column(struct al_table *table, size_t column)
{
	const size_t n_after = table->n_columns - column - 1;

	memmove(table->columns + column, table->columns + column + 1,
		n_after * sizeof(*table->columns));
	for (size_t row = 0; row < table->n_rows; row++)
		memmove(table->rows[row] + column, table->rows[row] + column + 1,
			n_after * sizeof(**table->rows));
	table->n_columns--;
}

/* A table of its own over the same texts and numbers, with the notes that are kept with it. */
static struct al_table copy(struct al_arena *arena, const struct al_table *from)
{
	struct al_table table = *from;
	const size_t n = from->n_columns;

	if (from->n_warnings > 0)
		table.notes += from->n_warnings;
	table.n_notes = from->n_kept;
	table.n_warnings = 0;
	table.columns = al_new_array(arena, struct al_column, n);
	table.rows = al_new_array(arena, struct al_cell *, from->n_rows);
	memcpy(table.columns, from->columns, n * sizeof(*from->columns));
	for (size_t row = 0; row < from->n_rows; row++) {
		table.rows[row] = al_new_array(arena, struct al_cell, n);
		memcpy(table.rows[row], from->rows[row], n * sizeof(**from->rows));
	}
	return table;
}

static void drop_empty_columns(struct al_table *table)
{
	for (size_t i = table->n_columns; i-- > 0;)
		if (!table->columns[i].is_key && i > 0 && is_empty(table, i))
			drop_column(table, i);
}

static bool is_claimed(const struct al_claim *claim, const struct al_table *table, size_t column)
{
	for (size_t i = 0; claim && i < claim->n_values; i++)
		if (claim->values[i].table && strcmp(claim->values[i].table, table->id) == 0
			&& strcmp(claim->values[i].key, table->columns[column].key) == 0)
			return true;
	return false;
}

/* The last column that neither names a row nor is in the claim; else the last. */
static size_t least_needed(const struct al_style *style, const struct al_table *table)
{
	for (size_t i = table->n_columns; i-- > 1;)
		if (!table->columns[i].is_key && !is_claimed(style->claim, table, i))
			return i;
	return table->n_columns - 1;
}

/* Leaves out at most `n` columns until the table fits the page; returns how many. */
static size_t drop_wide_columns(const struct al_style *style, struct al_table *table, size_t n)
{
	const size_t n_before = table->n_columns;

	while (n-- > 0 && table->n_columns > 2 && !al_text_table_fits(style, table))
		drop_column(table, least_needed(style, table));
	return n_before - table->n_columns;
}

/* The first of `n` rows, and the sums that end the group of rows that is cut: one more. */
static void keep_rows(struct al_table *table, size_t n)
{
	struct al_cell **rows = table->rows;
	size_t first = n, n_sums = 0;

	if (n + 1 > table->n_rows)
		return;
	while (first > 0 && rows[first - 1][0].is_total)
		first--;
	while (first < table->n_rows && !rows[first][0].is_total)
		first++;
	while (n_sums <= n && first + n_sums < table->n_rows && rows[first + n_sums][0].is_total)
		n_sums++;
	if (n_sums > 0)
		n = al_least(n + 1 - n_sums, first);
	memmove(&rows[n], &rows[first], n_sums * sizeof(*rows));
	table->n_rows = n + n_sums;
}

/* ---- the whole ---- */

/* The content of the short form, and what it leaves out. */
struct brief {
	const struct al_style *style;
	const struct al_table *const *tables;
	size_t n_tables;
	const struct al_table *shown; /* NULL: no table has a row */
	size_t n_rows, n_columns; /* left out */
};

/* Is the claim the whole table? */
static bool is_told(const struct al_claim *claim, const struct al_table *table)
{
	for (size_t i = 0; i < table->n_columns; i++)
		if (!is_claimed(claim, table, i) && !is_empty(table, i))
			return false;
	return table->n_rows == 1;
}

static const struct al_table *find_table(const struct brief *brief, const char *id)
{
	for (size_t i = 0; id && i < brief->n_tables; i++)
		if (strcmp(brief->tables[i]->id, id) == 0)
			return brief->tables[i];
	return NULL;
}

/* The table that the claim's first cell is from; else the first; NULL: none has rows of which the
 * claim doesn't tell all. */
static const struct al_table *choose_table(const struct brief *brief)
{
	const struct al_claim *claim = brief->style->claim;
	const size_t n_values = claim ? claim->n_values : 0;

	for (size_t i = 0; i < n_values + brief->n_tables; i++) {
		const struct al_table *table = i < n_values
			? find_table(brief, claim->values[i].table)
			: brief->tables[i - n_values];
		if (table && table->n_rows > 0 && !is_told(claim, table))
			return table;
	}
	return NULL;
}

/* The table with `n_rows` rows, how many more it has, and its notes. */
static void write_rows(struct brief *brief, const struct al_table *fitted, size_t n_rows,
	struct al_text *out)
{
	struct al_table table = *fitted, notes = *fitted;
	AL_ARENA(arena);

	table.rows = al_new_array(&arena, struct al_cell *, table.n_rows);
	memcpy(table.rows, fitted->rows, table.n_rows * sizeof(*table.rows));
	table.n_notes = 0;
	keep_rows(&table, n_rows);
	brief->n_rows = fitted->n_rows - table.n_rows;
	al_text_write_table(brief->style, &table, out);
	if (brief->n_rows > 0)
		al_text_addf(out, "... %zu more row%s\n", brief->n_rows,
			brief->n_rows > 1 ? "s" : "");
	notes.title = "";
	notes.n_columns = 0;
	al_text_write_table(brief->style, &notes, out);
}

/* Writes the table within `room` lines, where `cuts` allows it without some of its rows, but with
 * one at least; false, and nothing is written, where it doesn't fit. */
static bool write_fitting(struct brief *brief, const struct al_table *table, size_t room, bool cuts,
	struct al_text *out)
{
	size_t n = al_least(table->n_rows, room);

	for (;; n--) {
		AL_TEXT(text);
		write_rows(brief, table, n, &text);
		const bool fits = count_lines(&text) <= room;
		if (fits || (cuts && n <= 1))
			al_text_add(out, text.data);
		if (fits || !cuts || n <= 1)
			return fits;
	}
}

/* A table that is too wide loses one column where that is enough; else it is folded, where all of
 * it still fits; else it loses more. */
static void write_table(struct brief *brief, size_t room, struct al_text *out)
{
	AL_ARENA(arena);
	struct al_table whole = copy(&arena, brief->shown);

	drop_empty_columns(&whole);
	struct al_table narrow = copy(&arena, &whole);
	brief->n_columns = drop_wide_columns(brief->style, &narrow, 1);
	if (al_text_table_fits(brief->style, &narrow)) {
		(void)write_fitting(brief, &narrow, room, true, out);
		return;
	}
	brief->n_columns = 0;
	if (whole.n_rows <= room && write_fitting(brief, &whole, room, false, out))
		return;
	brief->n_columns = drop_wide_columns(brief->style, &whole, whole.n_columns);
	(void)write_fitting(brief, &whole, room, true, out);
}

/* The warnings of all tables, each once, those of the table that is shown first. */
static void write_warnings(const struct brief *brief, struct al_text *out)
{
	struct al_table all;

	al_table_init(&all, "", "");
	for (size_t i = 0; i <= brief->n_tables; i++) {
		const struct al_table *from = i ? brief->tables[i - 1] : brief->shown;
		for (size_t k = 0; from && k < from->n_warnings; k++)
			al_table_note(&all, "%s", from->notes[k]);
	}
	if (all.n_notes > MOST_WARNINGS) {
		const size_t n = all.n_notes - MOST_WARNINGS;
		all.n_notes = MOST_WARNINGS;
		al_table_note(&all, "%zu more warning%s", n, n > 1 ? "s" : "");
	}
	al_text_write_table(brief->style, &all, out);
	al_table_finish(&all);
}

/* "More: --details (12 columns; tables drop, module)": what isn't shown, but for the rows. */
static void add_more(const struct brief *brief, struct al_text *out)
{
	size_t n_notes = 0, n_named = 0;
	AL_TEXT(names);
	AL_TEXT(line);

	for (size_t i = 0; i < brief->n_tables; i++) {
		const struct al_table *table = brief->tables[i];
		n_notes += table->n_notes - table->n_warnings
			- (table == brief->shown ? table->n_kept : 0);
		if (table != brief->shown && table->n_rows > 0
			&& !is_told(brief->style->claim, table) && n_named++ < MOST_TABLES_NAMED)
			al_text_addf(&names, "%s%s", n_named > 1 ? ", " : "", table->id);
	}
	if (n_named + n_notes + brief->n_rows + brief->n_columns == 0)
		return;
	al_text_add(&line, "More: --details");
	const char *before = " (";
	if (brief->n_columns > 0) {
		al_text_addf(&line, "%s%zu column%s", before, brief->n_columns,
			brief->n_columns > 1 ? "s" : "");
		before = "; ";
	}
	if (n_named > 0)
		al_text_addf(&line, "%stable%s %s%s", before, n_named > 1 ? "s" : "", names.data,
			n_named > MOST_TABLES_NAMED ? " ..." : "");
	al_text_add(&line, brief->n_columns + n_named > 0 ? ")" : "");
	al_text_add_wrapped(out, line.data, 0, 0, brief->style->width);
	al_text_add(out, "\n");
}

/* Lines that the table may take, where blank lines and what is left out take three. */
static size_t room_for_table(const struct al_style *style, const struct al_text *head,
	const struct al_text *end)
{
	const size_t used = count_lines(head) + count_lines(end) + 3;

	return style->lines > used ? style->lines - used : 1;
}

size_t al_text_write_short(const struct al_style *asked, const struct al_table *const *tables,
	size_t n_tables, struct al_text *out)
{
	struct al_style style = *asked;
	struct brief brief = {.style = &style, .tables = tables, .n_tables = n_tables};
	const struct al_claim *claim = style.claim;
	AL_ARENA(arena);
	AL_TEXT(end);

	style.width = style.width ? style.width : SHORT_WIDTH;
	if (claim && claim->text) {
		al_text_write_claim(&style, al_printable(&arena, claim->text), out);
		al_text_add(out, "\n");
	}
	brief.shown = choose_table(&brief);
	write_warnings(&brief, &end);
	if (claim)
		al_text_write_end(&style, claim, &end);
	if (brief.shown) {
		const size_t room = room_for_table(&style, out, &end);
		al_text_add(out, out->length ? "\n" : "");
		write_table(&brief, room, out);
	}
	al_text_add(out, end.length ? end.data : "");
	al_text_add(out, claim && claim->n_next ? "" : "\n");
	add_more(&brief, out);
	return brief.n_rows;
}
