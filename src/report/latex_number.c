/* Numbers in LaTeX, with their spreads and marks. */
#include "report/latex_grid.h"

/* A hyphen in a number is a minus. */
static void add_in_text(struct al_text *out, const char *number)
{
	for (const char *p = number; *p; p++) {
		if (*p == '-')
			al_text_add(out, "$-$");
		else
			al_text_add_bytes(out, p, 1);
	}
}

/* In mathematics a comma would be followed by a space, and siunitx reads it as a decimal point. */
static void add_with_commas_as(struct al_text *out, const char *comma, const char *number)
{
	for (const char *p = number; *p; p++) {
		if (*p == ',')
			al_text_add(out, comma);
		else
			al_text_add_bytes(out, p, 1);
	}
}

static void add_mark(struct al_text *out, const struct al_cell *cell)
{
	if (cell->mark)
		al_text_addf(out, "$^{%s}$", cell->mark);
}

/* "84.0" or "84.0 (0.3)" in the text's own letters. */
static void add_plain(struct al_text *out, const char *number, const char *spread,
	const struct al_cell *cell)
{
	al_text_add(out, cell->is_best ? "\\textbf{" : cell->is_second ? "\\underline{" : "");
	add_in_text(out, number);
	if (spread) {
		al_text_add(out, " (");
		add_in_text(out, spread);
		al_text_add(out, ")");
	}
	al_text_add(out, cell->is_best || cell->is_second ? "}" : "");
	add_mark(out, cell);
}

/* Both in mathematics: the spread below the number, or next to it. */
static void add_in_mathematics(struct al_text *out, enum al_spread_form form, const char *number,
	const char *spread, const struct al_cell *cell)
{
	const bool is_below = form == AL_SPREAD_SUBSCRIPT,
		   is_set = cell->is_best || cell->is_second;

	al_text_add(out, cell->is_best ? "$\\mathbf{" : cell->is_second ? "$\\underline{" : "$");
	add_with_commas_as(out, "{,}", number);
	al_text_add(out, is_set && is_below ? "}" : "");
	if (cell->mark)
		al_text_addf(out, "^{%s}", cell->mark);
	al_text_add(out, is_below ? "_{\\pm " : " \\pm ");
	add_with_commas_as(out, "{,}", spread);
	al_text_add(out, is_below ? "}$" : is_set ? "}$" : "$");
}

/* siunitx reads the number and sets it; what it must not read is in braces. */
static void add_by_siunitx(struct al_text *out, const char *number, const char *spread,
	const struct al_cell *cell)
{
	al_text_add(out, cell->is_best ? "\\bfseries " : cell->is_second ? "{\\underline{$" : "");
	add_with_commas_as(out, "", number);
	if (spread) {
		al_text_add(out, " \\pm ");
		add_with_commas_as(out, "", spread);
	}
	al_text_add(out, !cell->is_best && cell->is_second ? "$}}" : "");
	add_mark(out, cell);
}

void al_latex_add_number(struct al_text *out, const struct al_style *style,
	const struct al_table *table, size_t column, const struct al_cell *cell)
{
	const struct al_column *head = &table->columns[column];
	const enum al_spread_form form = table->spread_form;

	AL_ARENA(arena);
	const bool is_exact = cell->kind == AL_CELL_EXACT;
	const char *number = is_exact
		? al_number_display(&arena, style, head, cell->exact, cell->digits)
		: al_cell_display(&arena, style, head, cell);
	const char *spread = is_exact && cell->spread && form != AL_SPREAD_NONE
		? al_number_display(&arena, style, head, cell->spread, cell->spread_digits)
		: NULL;
	if (al_latex_is_siunitx(table, column))
		add_by_siunitx(out, number, spread, cell);
	else if (spread && form != AL_SPREAD_BRACKETS)
		add_in_mathematics(out, form, number, spread, cell);
	else
		add_plain(out, number, spread, cell);
}

/* ---- columns ---- */

bool al_latex_is_siunitx(const struct al_table *table, size_t column)
{
	return table->spread_form == AL_SPREAD_SIUNITX && al_column_has_spread(table, column);
}

/* The most digits before and after the point, and of the spread in units of the last place. */
struct width {
	size_t whole, decimals, spread;
	const char *mark; /* the longest, or NULL */
};

static size_t count_digits(const char *text, size_t n)
{
	size_t digits = 0;

	for (size_t i = 0; i < n; i++)
		digits += al_is_digit(text[i]);
	return digits;
}

/* The number of decimals: 2 of "0.30". */
static size_t spread_digits(const char *spread)
{
	const size_t zeros = strspn(spread, "0."), all = strlen(spread);

	return al_most(1, count_digits(spread + zeros, all - zeros));
}

static void include(struct width *width, struct al_arena *arena, const struct al_style *style,
	const struct al_column *column, const struct al_cell *cell)
{
	if (cell->kind != AL_CELL_EXACT)
		return;
	const char *number = al_number_display(arena, style, column, cell->exact, cell->digits);
	const char *point = strchr(number, '.');
	const size_t n = strlen(number), whole = point ? (size_t)(point - number) : n;
	width->whole = al_most(width->whole, count_digits(number, whole));
	width->decimals = al_most(width->decimals, point ? n - whole - 1 : 0);
	if (cell->mark && (!width->mark || strlen(cell->mark) > strlen(width->mark)))
		width->mark = cell->mark;
	if (cell->spread)
		width->spread = al_most(width->spread,
			spread_digits(al_number_display(arena, style, column, cell->spread,
				cell->spread_digits)));
}

void al_latex_add_column(struct al_text *out, const struct al_style *style,
	const struct al_table *table, size_t column)
{
	struct width width = {0};

	if (!al_latex_is_siunitx(table, column)) {
		al_text_add(out, al_column_is_number(table, column) ? "r" : "l");
		return;
	}
	AL_ARENA(arena);
	for (size_t row = 0; row < table->n_rows; row++)
		include(&width, &arena, style, &table->columns[column], &table->rows[row][column]);
	al_text_addf(out,
		"S[separate-uncertainty,table-align-uncertainty=false,detect-weight,"
		"table-format=%zu.%zu(%zu)",
		width.whole, width.decimals, width.spread);
	if (width.mark)
		al_text_addf(out, ",table-space-text-post={$^{%s}$}", width.mark);
	al_text_add(out, "]");
}
