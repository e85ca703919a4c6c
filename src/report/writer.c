/* What the writers share: printable text, exact numbers, what kind a column is; their list, and how
 * one is found. */
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

/* ---- all writers ---- */

#define WRITER_POINTER(name) &al_writer_##name,

const struct al_writer *const al_writers[] = {AL_WRITERS(WRITER_POINTER) NULL};

enum { N_WRITERS = sizeof(al_writers) / sizeof(*al_writers) - 1 };

static const struct al_writer *find(const char *name)
{
	for (const struct al_writer *const *w = al_writers; *w; w++)
		if (strcmp(name, (*w)->name) == 0 || strcmp(name, (*w)->extension) == 0)
			return *w;
	return NULL;
}

void al_write(const struct al_writer *writer, const struct al_style *asked,
	const struct al_table *const *tables, size_t n_tables, struct al_text *out)
{
	struct al_style style = *asked;

	if (style.units == AL_UNITS_DEFAULT)
		style.units = writer->units;
	if (writer->write_all)
		writer->write_all(&style, tables, n_tables, out);
	for (size_t i = 0; i < n_tables && writer->write_table; i++) {
		al_text_add(out, i ? "\n" : "");
		writer->write_table(&style, tables[i], n_tables == 1, out);
	}
	if (!style.summary || !writer->write_summary)
		return;
	AL_ARENA(arena);
	al_text_add(out, "\n");
	writer->write_summary(&style, al_printable(&arena, style.summary), out);
	al_text_add(out, "\n");
}

bool al_writer_find(const char *name, const struct al_writer **out, struct al_error *err)
{
	const char *names[N_WRITERS];

	*out = find(name);
	if (*out)
		return true;
	for (size_t i = 0; i < N_WRITERS; i++)
		names[i] = al_writers[i]->name;
	return al_fail_unknown(err, "format", name, names, N_WRITERS);
}

bool al_writer_for_file(const char *path, const struct al_writer **out, struct al_error *err)
{
	const char *extensions[N_WRITERS];
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	if (!dot)
		return al_fail(err, AL_EINPUT,
			"%s: no extension that names a format (expected .txt, .json, .csv, .tex or "
			".md)",
			path);
	*out = find(dot + 1);
	if (*out)
		return true;
	for (size_t i = 0; i < N_WRITERS; i++)
		extensions[i] = al_writers[i]->extension;
	al_fail_unknown(err, "extension", dot + 1, extensions, N_WRITERS);
	return al_in(err, "%s", path);
}
