/* Rows of one module, read in order: a file of many megabytes takes no tree. */
#include "fragment/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fingerprint.h"
#include "base/json_reader.h"

struct parser {
	struct al_json_reader reader;
	struct al_fragment_rows *rows;
	struct al_table *table; /* that is read */
};

static bool fail_member(struct parser *p, const char *key, struct al_error *err)
{
	return al_json_reader_fail(&p->reader, NULL, err, "unknown key \"%.120s\"", key);
}

/* ---- cells ---- */

/* "-12" or "-1/3", of any length */
static bool is_exact(const char *digits)
{
	digits += *digits == '-';
	size_t n = strspn(digits, "0123456789");
	if (n == 0 || digits[n] == '\0')
		return n > 0;
	digits += n + 1;
	n = strspn(digits, "0123456789");
	return digits[-1] == '/' && n > 0 && digits[0] != '0' && digits[n] == '\0';
}

static bool set_exact(struct parser *p, struct al_cell *cell, const char *digits, const char *place,
	struct al_error *err)
{
	mpq_t value;

	if (!is_exact(digits))
		return al_json_reader_fail(&p->reader, place, err,
			"found \"%.40s\", expected an exact number: 3 or 1/3", digits);
	mpq_init(value);
	mpq_set_str(value, digits, 10);
	mpq_canonicalize(value);
	al_cell_set_exact(p->table, cell, value);
	mpq_clear(value);
	return true;
}

static bool read_number(struct parser *p, struct al_cell *cell, struct al_error *err)
{
	const char *place = p->reader.p, *digits;

	if (!al_json_reader_number(&p->reader, NULL, &digits, err))
		return false;
	if (!strpbrk(digits, ".eE"))
		return set_exact(p, cell, digits, place, err);
	al_cell_set_real(cell, strtod(digits, NULL));
	return isfinite(cell->real)
		|| al_json_reader_fail(&p->reader, place, err,
			"found %.40s, expected a finite number", digits);
}

static bool read_special(struct parser *p, struct al_cell *cell, struct al_error *err)
{
	const char *place = p->reader.p, *word;

	if (!al_json_reader_text(&p->reader, "real", &word, err))
		return false;
	if (strcmp(word, "nan") != 0 && strcmp(word, "inf") != 0 && strcmp(word, "-inf") != 0)
		return al_json_reader_fail(&p->reader, place, err,
			"found \"%.40s\", expected nan, inf or -inf", word);
	al_cell_set_real(cell, *word == 'n' ? NAN : *word == 'i' ? INFINITY : -INFINITY);
	return true;
}

static bool read_member(struct parser *p, const char *key, struct al_cell *cell,
	struct al_error *err)
{
	const char *place = p->reader.p, *text;

	if (strcmp(key, "real") == 0)
		return read_special(p, cell, err);
	if (strcmp(key, "text") != 0 && strcmp(key, "title") != 0 && strcmp(key, "exact") != 0)
		return fail_member(p, key, err);
	const char kind = key[0] == 'e' ? 'e' : key[2]; /* the key is gone with the next text */
	if (!al_json_reader_text(&p->reader, NULL, &text, err))
		return false;
	if (kind == 'e')
		return set_exact(p, cell, text, place, err);
	if (kind == 'x')
		al_cell_set_text(p->table, cell, text);
	else if (cell->kind == AL_CELL_TEXT)
		cell->title = al_strdup(&p->table->arena, text);
	else
		return al_json_reader_fail(&p->reader, place, err, "a title without a text");
	return true;
}

static bool read_object(struct parser *p, struct al_cell *cell, struct al_error *err)
{
	const char *place = p->reader.p, *key;

	al_json_reader_enter(&p->reader);
	while (al_json_reader_member(&p->reader, &key))
		if (!read_member(p, key, cell, err))
			return false;
	return cell->kind != AL_CELL_MISSING
		|| al_json_reader_fail(&p->reader, place, err, "a cell of nothing");
}

static bool read_cell(struct parser *p, struct al_cell *cell, struct al_error *err)
{
	const char *text;

	switch (al_json_reader_kind(&p->reader)) {
	case AL_JSON_NULL:
		al_json_reader_skip(&p->reader);
		return true;
	case AL_JSON_TEXT:
		if (!al_json_reader_text(&p->reader, NULL, &text, err))
			return false;
		al_cell_set_text(p->table, cell, text);
		return true;
	case AL_JSON_NUMBER:
		return read_number(p, cell, err);
	case AL_JSON_OBJECT:
		return read_object(p, cell, err);
	default:
		return al_json_reader_fail(&p->reader, NULL, err,
			"found %s, expected null, a text, a number or an object",
			al_json_reader_kind(&p->reader) == AL_JSON_ARRAY ? "an array"
									 : "a boolean");
	}
}

/* ---- tables ---- */

/* Reads the next value, an array, item by item. */
static bool read_items(struct parser *p, const char *what,
	bool (*read)(struct parser *, struct al_error *), struct al_error *err)
{
	if (!al_json_reader_expect(&p->reader, AL_JSON_ARRAY, what, err))
		return false;
	al_json_reader_enter(&p->reader);
	while (al_json_reader_item(&p->reader))
		if (!read(p, err))
			return false;
	return true;
}

static bool read_column(struct parser *p, struct al_error *err)
{
	const char *place = p->reader.p, *key;

	if (!al_json_reader_text(&p->reader, "columns", &key, err))
		return false;
	if (p->table->n_rows > 0)
		return al_json_reader_fail(&p->reader, place, err, "columns after rows");
	al_table_add_column(p->table, (struct al_column){.key = key});
	return true;
}

static bool read_note(struct parser *p, struct al_error *err)
{
	const char *note;

	if (!al_json_reader_text(&p->reader, "notes", &note, err))
		return false;
	al_table_note(p->table, "%s", note);
	return true;
}

static bool read_row(struct parser *p, struct al_error *err)
{
	const char *place = p->reader.p;
	const size_t n_columns = p->table->n_columns;
	size_t n = 0;

	if (!al_json_reader_expect(&p->reader, AL_JSON_ARRAY, "rows", err))
		return false;
	struct al_cell *cells = al_table_add_row(p->table);
	al_json_reader_enter(&p->reader);
	for (; al_json_reader_item(&p->reader); n++)
		if (n == n_columns)
			return al_json_reader_fail(&p->reader, NULL, err,
				"one cell more than the table's %zu columns", n_columns);
		else if (!read_cell(p, &cells[n], err))
			return false;
	return n == n_columns
		|| al_json_reader_fail(&p->reader, place, err,
			"%zu cells, the table has %zu columns", n, n_columns);
}

static bool read_table_member(struct parser *p, const char *key, struct al_error *err)
{
	const char *id;

	if (strcmp(key, "columns") == 0)
		return read_items(p, "columns", read_column, err);
	if (strcmp(key, "notes") == 0)
		return read_items(p, "notes", read_note, err);
	if (strcmp(key, "rows") == 0)
		return read_items(p, "rows", read_row, err);
	if (strcmp(key, "id") != 0)
		return fail_member(p, key, err);
	if (!al_json_reader_text(&p->reader, "id", &id, err))
		return false;
	p->table->id = al_strdup(&p->table->arena, id);
	return true;
}

static bool read_table(struct parser *p, struct al_error *err)
{
	const char *place = p->reader.p, *key;
	struct al_fragment_rows *rows = p->rows;

	if (!al_json_reader_expect(&p->reader, AL_JSON_OBJECT, "tables", err))
		return false;
	rows->tables = al_grow(&rows->arena, rows->tables, rows->n_tables, &rows->tables_room,
		sizeof(*rows->tables));
	p->table = &rows->tables[rows->n_tables++];
	al_table_init(p->table, "", "");
	al_json_reader_enter(&p->reader);
	while (al_json_reader_member(&p->reader, &key))
		if (!read_table_member(p, key, err))
			return false;
	return *p->table->id
		|| al_json_reader_fail(&p->reader, place, err, "a table without an \"id\"");
}

/* ---- matrices ---- */

static bool read_matrix_member(struct parser *p, const char *key, struct al_fragment_matrix *matrix,
	struct al_error *err)
{
	const char *place = p->reader.p, *text;
	const bool is_name = strcmp(key, "name") == 0;

	if (!is_name && strcmp(key, "fingerprint") != 0)
		return fail_member(p, key, err);
	if (!al_json_reader_text(&p->reader, is_name ? "name" : "fingerprint", &text, err))
		return false;
	if (is_name)
		matrix->name = al_strdup(&p->rows->arena, text);
	else if (!al_fingerprint_read(text, &matrix->fingerprint))
		return al_json_reader_fail(&p->reader, place, err,
			"found \"%.40s\", expected a fingerprint", text);
	/* It becomes a file's name in a folder. */
	return !is_name || (*text && *text != '.' && !strchr(text, '/'))
		|| al_json_reader_fail(&p->reader, place, err,
			"found \"%.40s\", expected the name of a file", text);
}

static bool read_matrix(struct parser *p, struct al_error *err)
{
	const char *place = p->reader.p, *key;
	struct al_fragment_rows *rows = p->rows;

	if (!al_json_reader_expect(&p->reader, AL_JSON_OBJECT, "matrices", err))
		return false;
	rows->matrices = al_grow(&rows->arena, rows->matrices, rows->n_matrices,
		&rows->matrices_room, sizeof(*rows->matrices));
	struct al_fragment_matrix *matrix = &rows->matrices[rows->n_matrices++];
	*matrix = (struct al_fragment_matrix){0};
	al_json_reader_enter(&p->reader);
	while (al_json_reader_member(&p->reader, &key))
		if (!read_matrix_member(p, key, matrix, err))
			return false;
	return matrix->name
		|| al_json_reader_fail(&p->reader, place, err, "a matrix without a \"name\"");
}

/* ---- the file ---- */

static bool read_part(struct parser *p, const char *key, struct al_error *err)
{
	const char *module;

	if (strcmp(key, "tables") == 0)
		return read_items(p, "tables", read_table, err);
	if (strcmp(key, "matrices") == 0)
		return read_items(p, "matrices", read_matrix, err);
	if (strcmp(key, "module") != 0)
		return fail_member(p, key, err);
	if (!al_json_reader_text(&p->reader, "module", &module, err))
		return false;
	p->rows->module = al_strdup(&p->rows->arena, module);
	return true;
}

static bool read_all(struct parser *p, struct al_error *err)
{
	const char *begin = p->reader.p, *key;

	if (!al_json_reader_expect(&p->reader, AL_JSON_OBJECT, NULL, err))
		return false;
	al_json_reader_enter(&p->reader);
	while (al_json_reader_member(&p->reader, &key))
		if (!read_part(p, key, err))
			return false;
	return p->rows->module
		|| al_json_reader_fail(&p->reader, begin, err, "no \"module\": these are no rows");
}

bool al_fragment_rows_parse(struct al_fragment_rows *rows, const char *name, const char *text,
	size_t length, struct al_error *err)
{
	struct parser p = {.rows = rows};

	*rows = (struct al_fragment_rows){0};
	if (!al_json_reader_init(&p.reader, name, text, length, err))
		return false;
	al_arena_init(&rows->arena);
	rows->name = al_strdup(&rows->arena, name);
	bool ok = read_all(&p, err);
	al_json_reader_finish(&p.reader);
	if (!ok)
		al_fragment_rows_finish(rows);
	return ok;
}

void al_fragment_rows_finish(struct al_fragment_rows *rows)
{
	for (size_t i = 0; i < rows->n_tables; i++)
		al_table_finish(&rows->tables[i]);
	al_arena_finish(&rows->arena);
	*rows = (struct al_fragment_rows){0};
}

const struct al_table *al_fragment_rows_find(const struct al_fragment_rows *rows, const char *id)
{
	for (size_t i = 0; i < rows->n_tables; i++)
		if (strcmp(rows->tables[i].id, id) == 0)
			return &rows->tables[i];
	return NULL;
}
