/* Files of shards. */
#include "audit/shard/shard.h"

#include <assert.h>

#include "base/json.h"

void al_shard_file_init(struct al_shard_file *f, const char *path)
{
	*f = (struct al_shard_file){0};
	al_arena_init(&f->arena);
	f->path = al_strdup(&f->arena, path);
}

void al_shard_file_finish(void *file)
{
	struct al_shard_file *f = file;

	al_arena_finish(&f->arena);
	*f = (struct al_shard_file){0};
}

void al_shard_file_say(struct al_shard_file *f, const char *name, const char *value)
{
	if (!value)
		return;
	f->facts = al_grow(&f->arena, f->facts, f->n_facts, &f->facts_room, sizeof(*f->facts));
	f->facts[f->n_facts++] = (struct al_fact){al_strdup(&f->arena, name),
		al_strdup(&f->arena, value)};
}

const char *al_shard_file_fact(const struct al_shard_file *f, const char *name)
{
	for (size_t i = 0; i < f->n_facts; i++)
		if (strcmp(f->facts[i].name, name) == 0)
			return f->facts[i].value;
	return NULL;
}

void al_shard_file_add(struct al_shard_file *f, const struct al_table *table)
{
	f->tables = al_grow(&f->arena, f->tables, f->n_tables, &f->tables_room,
		sizeof(struct al_table *));
	f->tables[f->n_tables++] = table;
}

static void finish_table(void *table)
{
	al_table_finish(table);
}

struct al_table *al_shard_file_new_table(struct al_shard_file *f, const char *id)
{
	struct al_table *table = al_new(&f->arena, struct al_table);

	al_table_init(table, al_strdup(&f->arena, id), "");
	al_arena_defer(&f->arena, finish_table, table);
	al_shard_file_add(f, table);
	return table;
}

const struct al_table *al_shard_file_table(const struct al_shard_file *f, const char *id)
{
	for (size_t i = 0; i < f->n_tables; i++)
		if (strcmp(f->tables[i]->id, id) == 0)
			return f->tables[i];
	return NULL;
}

struct parser {
	const struct al_json *doc;
	struct al_shard_file *shard;
	struct al_table *table; /* that is read */
};

#define ONLY(p, node, err, ...) \
	al_json_only((p)->doc, node, (const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), err)

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

static bool read_exact(struct parser *p, const struct al_item *node, const char *digits,
	struct al_cell *cell, struct al_error *err)
{
	if (!is_exact(digits))
		return al_json_fail(p->doc, node, err,
			"found \"%.40s\", expected an exact number: 3 or 1/3", digits);
	AL_EXACT(value);
	mpq_set_str(value, digits, 10);
	mpq_canonicalize(value);
	al_cell_set_exact(p->table, cell, value);
	return true;
}

static bool read_object(struct parser *p, const struct al_item *node, struct al_cell *cell,
	struct al_error *err)
{
	static const char *const reals[] = {"inf", "-inf"};
	const char *text = NULL, *title = NULL, *exact = NULL, *real = NULL;

	if (!ONLY(p, node, err, "text", "title", "exact", "real")
		|| !al_json_get_text(p->doc, node, "text", false, &text, err)
		|| !al_json_get_text(p->doc, node, "title", false, &title, err)
		|| !al_json_get_text(p->doc, node, "exact", false, &exact, err)
		|| !al_json_get_text(p->doc, node, "real", false, &real, err))
		return false;
	if (exact)
		return read_exact(p, node, exact, cell, err);
	if (real && al_find_name(real, reals, sizeof(reals) / sizeof(*reals)) >= 0)
		al_cell_set_real(cell, strtod(real, NULL));
	else if (text && title)
		al_cell_set_titled(p->table, cell, text, title);
	else
		return al_json_fail(p->doc, node, err,
			"expected \"exact\", \"real\" (inf or -inf), or \"text\" and "
			"\"title\"");
	return true;
}

static bool read_cell(struct parser *p, const struct al_item *node, struct al_cell *cell,
	struct al_error *err)
{
	const char *text;
	double real;

	switch (al_json_kind(node)) {
	case AL_JSON_NULL:
		return true;
	case AL_JSON_OBJECT:
		return read_object(p, node, cell, err);
	case AL_JSON_NUMBER:
		if (!al_json_real(p->doc, node, &real, err))
			return false;
		al_cell_set_real(cell, real);
		return true;
	default:
		if (!al_json_text(p->doc, node, &text, err))
			return false;
		al_cell_set_text(p->table, cell, text);
		return true;
	}
}

/* ---- tables ---- */

static bool read_row(struct parser *p, const struct al_item *row, struct al_error *err)
{
	struct al_cell *cell = al_table_add_row(p->table);

	if (!al_json_expect(p->doc, row, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(row) != p->table->n_columns)
		return al_json_fail(p->doc, row, err, "%zu cells, the table has %zu columns",
			al_json_size(row), p->table->n_columns);
	al_json_each (node, row)
		if (!read_cell(p, node, cell++, err))
			return false;
	return true;
}

static bool read_table(struct parser *p, const struct al_item *node, struct al_error *err)
{
	const struct al_item *columns, *notes, *rows;
	const char *text;

	if (!al_json_expect(p->doc, node, AL_JSON_OBJECT, err)
		|| !ONLY(p, node, err, "id", "columns", "notes", "rows")
		|| !al_json_get_text(p->doc, node, "id", true, &text, err)
		|| !al_json_get_node(p->doc, node, "columns", AL_JSON_ARRAY, true, &columns, err)
		|| !al_json_get_node(p->doc, node, "notes", AL_JSON_ARRAY, true, &notes, err)
		|| !al_json_get_node(p->doc, node, "rows", AL_JSON_ARRAY, true, &rows, err))
		return false;
	p->table = al_shard_file_new_table(p->shard, text);
	al_json_each (column, columns) {
		if (!al_json_text(p->doc, column, &text, err))
			return false;
		al_table_add_column(p->table, (struct al_column){.key = text});
	}
	al_json_each (note, notes) {
		if (!al_json_text(p->doc, note, &text, err))
			return false;
		al_table_note(p->table, "%s", text);
	}
	al_json_each (row, rows)
		if (!read_row(p, row, err))
			return false;
	return true;
}

/* ---- the file ---- */

static bool read_all(struct parser *p, struct al_error *err)
{
	const struct al_item *facts, *tables, *root = p->doc->root;
	struct al_shard_file *f = p->shard;
	const char *value;

	if (!al_json_expect(p->doc, root, AL_JSON_OBJECT, err)
		|| !ONLY(p, root, err, "facts", "tables")
		|| !al_json_get_node(p->doc, root, "facts", AL_JSON_OBJECT, true, &facts, err)
		|| !al_json_get_node(p->doc, root, "tables", AL_JSON_ARRAY, true, &tables, err))
		return false;
	al_json_each (fact, facts) {
		if (!al_json_text(p->doc, fact, &value, err))
			return false;
		al_shard_file_say(f, al_json_key(fact), value);
	}
	al_json_each (table, tables)
		if (!read_table(p, table, err))
			return false;
	return true;
}

bool al_shard_file_parse(struct al_shard_file *f, const char *path, const char *text, size_t length,
	struct al_error *err)
{
	AL_JSON(doc);
	struct parser p = {.doc = &doc, .shard = f};

	if (!al_json_parse(&doc, path, text, length, err))
		return false;
	al_shard_file_init(f, path);
	if (read_all(&p, err))
		return true;
	al_shard_file_finish(f);
	return false;
}

/* ---- writing ---- */

static void add_pair(struct al_text *out, const char *before, const char *key, const char *value)
{
	al_text_add(out, before);
	al_json_quote(out, key);
	al_text_add(out, ": ");
	al_json_quote(out, value);
}

/* ---- cells ---- */

static void add_text(struct al_text *out, const struct al_cell *cell)
{
	if (!cell->title) {
		al_json_quote(out, cell->text);
		return;
	}
	add_pair(out, "{", "text", cell->text);
	add_pair(out, ", ", "title", cell->title);
	al_text_add(out, "}");
}

static void add_exact(struct al_text *out, mpq_srcptr value)
{
	char *digits = mpq_get_str(NULL, 10, value);

	al_text_addf(out, "{\"exact\": \"%s\"}", digits);
	free(digits);
}

static void add_cell(struct al_text *out, const struct al_cell *cell)
{
	assert(!cell->latex && !cell->spread && !cell->digits && !cell->is_best);
	switch (cell->kind) {
	case AL_CELL_MISSING:
		al_text_add(out, "null");
		break;
	case AL_CELL_TEXT:
		add_text(out, cell);
		break;
	case AL_CELL_EXACT:
		add_exact(out, cell->exact);
		break;
	case AL_CELL_REAL:
		al_text_addf(out, isfinite(cell->real) ? "%.17g" : "{\"real\": \"%g\"}",
			cell->real);
		break;
	}
}

/* ---- tables ---- */

static void add_row(struct al_text *out, const struct al_table *table, size_t row)
{
	al_text_add(out, row ? ",\n    [" : "\n    [");
	for (size_t i = 0; i < table->n_columns; i++) {
		al_text_add(out, i ? ", " : "");
		add_cell(out, &table->rows[row][i]);
	}
	al_text_add(out, "]");
}

static void add_table(struct al_text *out, const struct al_table *table)
{
	add_pair(out, "{", "id", table->id);
	al_text_add(out, ", \"columns\": [");
	for (size_t i = 0; i < table->n_columns; i++) {
		al_text_add(out, i ? ", " : "");
		al_json_quote(out, table->columns[i].key);
	}
	al_text_add(out, "], \"notes\": [");
	for (size_t i = 0; i < table->n_notes; i++) {
		al_text_add(out, i ? ", " : "");
		al_json_quote(out, table->notes[i]);
	}
	al_text_add(out, "],\n   \"rows\": [");
	for (size_t row = 0; row < table->n_rows; row++)
		add_row(out, table, row);
	al_text_add(out, "]}");
}

void al_shard_file_write(const struct al_shard_file *f, struct al_text *out)
{
	al_text_add(out, "{\n \"facts\": {");
	for (size_t i = 0; i < f->n_facts; i++)
		add_pair(out, i ? ",\n  " : "\n  ", f->facts[i].name, f->facts[i].value);
	al_text_add(out, "},\n \"tables\": [");
	for (size_t i = 0; i < f->n_tables; i++) {
		al_text_add(out, i ? ",\n  " : "\n  ");
		add_table(out, f->tables[i]);
	}
	al_text_add(out, "]\n}\n");
}
