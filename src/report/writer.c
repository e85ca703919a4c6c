/* What the writers share: printable text, exact numbers, and what kind a column is. */
#include "report/writer.h"

const char *al_printable(struct al_arena *arena, const char *text)
{
	const size_t length = strlen(text);

	if (al_text_is_plain(text, length)) /* nearly all of them */
		return al_strndup(arena, text, length);

	char *printable = al_arena_alloc(arena, 4 * length + 1, 1);
	char *end = printable;

	while (*text)
		end += al_escape_control(&text, end);
	return printable;
}

/* The shortest of 15 to 17 digits that reads back as the same number. */
static const char *real_text(struct al_arena *arena, double value)
{
	if (isnan(value))
		return "nan";
	if (isinf(value))
		return value < 0 ? "-inf" : "inf";

	for (int digits = 15; digits < 17; digits++) {
		const char *text = al_format(arena, "%.*g", digits, value);
		if (!islessgreater(strtod(text, NULL), value))
			return text;
	}
	return al_format(arena, "%.17g", value);
}

const char *al_cell_number_text(struct al_arena *arena, const struct al_cell *cell)
{
	switch (cell->kind) {
	case AL_CELL_EXACT:
		return al_exact_text(arena, cell->exact);
	case AL_CELL_REAL:
		return real_text(arena, cell->real);
	case AL_CELL_MISSING:
	case AL_CELL_TEXT:
		break;
	}
	return NULL;
}

bool al_column_is_number(const struct al_table *table, size_t column)
{
	bool has_text = false;

	for (size_t row = 0; row < table->n_rows; row++) {
		enum al_cell_kind kind = table->rows[row][column].kind;
		if (kind == AL_CELL_EXACT || kind == AL_CELL_REAL)
			return true;
		has_text |= kind == AL_CELL_TEXT;
	}
	return !has_text && !table->columns[column].is_key;
}

bool al_column_has_spread(const struct al_table *table, size_t column)
{
	for (size_t row = 0; row < table->n_rows; row++)
		if (table->rows[row][column].spread)
			return true;
	return false;
}

bool al_column_same_group(const struct al_column *a, const struct al_column *b)
{
	return a->group && b->group && strcmp(a->group, b->group) == 0;
}

bool al_table_has_rule(const struct al_table *table, size_t row)
{
	return row > 1 && table->rows[row][0].is_total && !table->rows[row - 1][0].is_total
		&& !table->rows[row - 2][0].is_total;
}
