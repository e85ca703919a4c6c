/* CSV (RFC 4180, lines end in \n): a header of keys, exact values, a missing cell empty. Control
 * characters of texts come out as \xNN, except tabs: a cell is one line, and safe on a terminal. A
 * text that a spreadsheet would run as a formula begins with an apostrophe. */

#include "report/writer.h"

static bool needs_quotes(const char *text)
{
	size_t length = strlen(text);

	return strpbrk(text, ",\"\t\r\n") || text[0] == ' '
		|| (length > 0 && text[length - 1] == ' ');
}

/* A number or a polynomial, "-2*d_head^2 + 1": no name, and it calls nothing. */
static bool is_arithmetic(const char *text)
{
	static const char signs[] = "0123456789.*^/+- _"
				    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	bool has_digit = al_is_digit(text[1]);

	return strspn(text, signs) == strlen(text) && (has_digit || strpbrk(text, "*^"));
}

/* Spreadsheets take what begins so for a formula. A lone sign is harmless. */
static bool runs(const char *text)
{
	return text[0] && text[1] && strchr("=+-@\t", text[0]) && !is_arithmetic(text);
}

/* The text as it may be printed, with its tabs. */
static const char *printable(struct al_arena *arena, const char *text)
{
	char *copy = al_arena_alloc(arena, 4 * strlen(text) + 1, 1);
	char *end = copy;

	while (*text)
		if (*text == '\t')
			*end++ = *text++;
		else
			end += al_escape_control(&text, end);
	return copy;
}

/* A name that would run is marked; what this program derived ("-d_head") isn't a name. */
static void add_field(struct al_text *out, struct al_arena *arena, const char *text, bool is_name)
{
	text = printable(arena, text);
	if (is_name && runs(text))
		text = al_format(arena, "'%s", text);
	if (!needs_quotes(text)) {
		al_text_add(out, text);
		return;
	}
	al_text_add(out, "\"");
	for (const char *p = text; *p; p++)
		al_text_add_bytes(out, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
	al_text_add(out, "\"");
}

static void write_header(const struct al_table *table, const bool *has_spread,
	struct al_arena *arena, struct al_text *out)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		const char *key = table->columns[i].key;
		al_text_add(out, i ? "," : "");
		add_field(out, arena, key, true);
		if (has_spread[i]) {
			al_text_add(out, ",");
			add_field(out, arena, al_format(arena, "%s_spread", key), true);
		}
	}
	al_text_add(out, "\n");
}

static void add_cell(struct al_text *out, struct al_arena *arena, const struct al_cell *cell)
{
	const char *number = al_cell_number_text(arena, cell);

	if (number)
		al_text_add(out, number);
	else if (cell->kind == AL_CELL_TEXT)
		add_field(out, arena, cell->text, !cell->latex);
}

static void write_row(const struct al_table *table, const struct al_cell *row,
	const bool *has_spread, struct al_arena *arena, struct al_text *out)
{
	size_t start = out->length;

	for (size_t i = 0; i < table->n_columns; i++) {
		al_text_add(out, i ? "," : "");
		add_cell(out, arena, &row[i]);
		al_text_add(out, has_spread[i] ? "," : "");
		if (row[i].spread)
			al_text_add(out, al_exact_text(arena, row[i].spread));
	}
	/* An empty line is no row to a reader. */
	al_text_add(out, out->length == start ? "\"\"\n" : "\n");
}

/* Their texts are forgotten together. */
enum { ROWS_AT_ONCE = 64 };

static void write_rows(const struct al_table *table, size_t first, const bool *has_spread,
	struct al_text *out)
{
	AL_ARENA(arena);
	for (size_t row = first; row < table->n_rows && row < first + ROWS_AT_ONCE; row++)
		write_row(table, table->rows[row], has_spread, &arena, out);
}

void al_csv_add(const struct al_table *table, bool with_header, struct al_text *out)
{
	AL_ARENA(arena);
	bool *has_spread = al_new_array(&arena, bool, table->n_columns);
	for (size_t i = 0; i < table->n_columns; i++)
		has_spread[i] = al_column_has_spread(table, i);
	if (with_header)
		write_header(table, has_spread, &arena, out);
	for (size_t row = 0; row < table->n_rows; row += ROWS_AT_ONCE)
		write_rows(table, row, has_spread, out);
}

static void write_table(const struct al_style *style, const struct al_table *table,
	struct al_text *out)
{
	(void)style;
	al_csv_add(table, true, out);
}

const struct al_writer al_writer_csv = {
	.name = "csv",
	.extension = "csv",
	.write_table = write_table,
};
