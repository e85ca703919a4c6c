/* Rows of one module, written. */
#include "fragment/rows.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fingerprint.h"
#include "base/json.h"
#include "base/number.h"

/* ---- cells ---- */

static void add_text(struct al_text *out, const struct al_cell *cell)
{
	if (!cell->title) {
		al_json_quote(out, cell->text);
		return;
	}
	al_text_add(out, "{\"text\": ");
	al_json_quote(out, cell->text);
	al_text_add(out, ", \"title\": ");
	al_json_quote(out, cell->title);
	al_text_add(out, "}");
}

static void add_exact(struct al_text *out, mpq_srcptr value)
{
	char *digits = mpq_get_str(NULL, 10, value);

	al_text_addf(out, al_exact_is_integer(value) ? "%s" : "{\"exact\": \"%s\"}", digits);
	free(digits);
}

/* With a point or an exponent: it is told from an exact number by them. */
static void add_real(struct al_text *out, double value)
{
	char digits[32];

	if (isnan(value) || isinf(value)) {
		al_text_addf(out, "{\"real\": \"%s\"}",
			isnan(value)	    ? "nan"
				: value > 0 ? "inf"
					    : "-inf");
		return;
	}
	snprintf(digits, sizeof(digits), "%.17g", value);
	al_text_addf(out, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
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
		add_real(out, cell->real);
		break;
	}
}

/* ---- tables ---- */

static void add_rows(struct al_text *out, const struct al_table *table)
{
	for (size_t row = 0; row < table->n_rows; row++) {
		al_text_add(out, row ? ",\n    [" : "\n    [");
		for (size_t i = 0; i < table->n_columns; i++) {
			al_text_add(out, i ? ", " : "");
			add_cell(out, &table->rows[row][i]);
		}
		al_text_add(out, "]");
	}
}

static void add_table(struct al_text *out, const struct al_table *table)
{
	al_text_add(out, "{\"id\": ");
	al_json_quote(out, table->id);
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
	add_rows(out, table);
	al_text_add(out, "]}");
}

static void add_matrices(struct al_text *out, const struct al_fragment_matrix *matrices, size_t n)
{
	struct al_arena arena;

	al_arena_init(&arena);
	for (size_t i = 0; i < n; i++) {
		al_text_add(out, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
		al_json_quote(out, matrices[i].name);
		al_text_addf(out, ", \"fingerprint\": \"%s\"}",
			al_fingerprint_text(&arena, matrices[i].fingerprint));
	}
	al_arena_finish(&arena);
}

void al_fragment_rows_write(const char *module, const struct al_table *const *tables,
	size_t n_tables, const struct al_fragment_matrix *matrices, size_t n_matrices,
	struct al_text *out)
{
	al_text_add(out, "{\n \"module\": ");
	al_json_quote(out, module);
	al_text_add(out, ",\n \"tables\": [");
	for (size_t i = 0; i < n_tables; i++) {
		al_text_add(out, i ? ",\n  " : "\n  ");
		add_table(out, tables[i]);
	}
	al_text_add(out, "],\n \"matrices\": [");
	add_matrices(out, matrices, n_matrices);
	al_text_add(out, "]\n}\n");
}
