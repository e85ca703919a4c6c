/* Files of shards, written. */
#include "audit/shard/shard.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"

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
			isnan(cell->real) ? fabs(cell->real) : cell->real);
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
