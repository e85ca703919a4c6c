/* JSON: the claim with its values, then every table as an object of columns, rows, totals and
 * notes; one row a line, so that differences read well. Integers are exact at any size; a missing
 * cell and a real that is not finite are null. */

#include "base/json.h"
#include "report/claim.h"
#include "report/writer.h"

/* `"name": "text",` on a line of its own. */
static void add_member(struct al_text *out, const char *indent, const char *name, const char *text)
{
	al_text_addf(out, "%s\"%s\": ", indent, name);
	al_json_quote(out, text);
	al_text_add(out, ",\n");
}

static void begin_array(struct al_text *out, const char *indent, const char *name)
{
	al_text_addf(out, "%s\"%s\": [", indent, name);
}

/* Before item `i` of an array, one a line. */
static void begin_item(struct al_text *out, const char *indent, size_t i)
{
	al_text_addf(out, "%s\n%s  ", i ? "," : "", indent);
}

static void end_array(struct al_text *out, const char *indent, size_t n_items, const char *after)
{
	if (n_items > 0)
		al_text_addf(out, "\n%s", indent);
	al_text_addf(out, "]%s\n", after);
}

static void add_column(struct al_text *out, const char *key, const char *title, const char *unit)
{
	al_text_add(out, "{\"key\": ");
	al_json_quote(out, key);
	al_text_add(out, ", \"title\": ");
	al_json_quote(out, title);
	al_text_add(out, ", \"unit\": ");
	al_json_quote(out, unit);
	al_text_add(out, "}");
}

static bool is_total(const struct al_table *table, size_t row)
{
	return table->n_columns > 0 && table->rows[row][0].is_total;
}

static const char *spread_key(struct al_arena *arena, const struct al_column *column)
{
	return al_format(arena, "%s_spread", column->key);
}

static void write_columns(const struct al_table *table, const bool *has_spread, const char *indent,
	struct al_arena *arena, struct al_text *out)
{
	begin_array(out, indent, "columns");
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_column *column = &table->columns[i];
		begin_item(out, indent, i);
		add_column(out, column->key, column->title, column->unit);
		if (has_spread[i]) {
			const char *title = al_format(arena, "%s (standard deviation)",
				column->title);
			begin_item(out, indent, 1);
			add_column(out, spread_key(arena, column), title, column->unit);
		}
	}
	end_array(out, indent, table->n_columns, ",");
}

static void add_value(struct al_text *out, struct al_arena *arena, const struct al_cell *cell)
{
	const char *number = al_cell_number_text(arena, cell);

	if (cell->kind == AL_CELL_TEXT)
		al_json_quote(out, cell->text);
	else if (!number || (cell->kind == AL_CELL_REAL && !isfinite(cell->real)))
		al_text_add(out, "null");
	else
		al_text_add(out, number);
}

static void write_row(const struct al_table *table, const struct al_cell *row,
	const bool *has_spread, struct al_text *out)
{
	AL_ARENA(arena);
	al_text_add(out, "{");
	for (size_t i = 0; i < table->n_columns; i++) {
		al_text_add(out, i ? ", " : "");
		al_json_quote(out, table->columns[i].key);
		al_text_add(out, ": ");
		add_value(out, &arena, &row[i]);
		if (has_spread[i]) {
			al_text_add(out, ", ");
			al_json_quote(out, spread_key(&arena, &table->columns[i]));
			al_text_addf(out, ": %s",
				row[i].spread ? al_exact_text(&arena, row[i].spread) : "null");
		}
	}
	al_text_add(out, "}");
}

/* The rows that are sums of others, or those that aren't. */
static void write_rows(const struct al_table *table, const bool *has_spread, bool of_totals,
	const char *indent, struct al_text *out)
{
	size_t n = 0;

	begin_array(out, indent, of_totals ? "totals" : "rows");
	for (size_t i = 0; i < table->n_rows; i++)
		if (is_total(table, i) == of_totals) {
			begin_item(out, indent, n++);
			write_row(table, table->rows[i], has_spread, out);
		}
	end_array(out, indent, n, ",");
}

static void write_texts(const char *name, const char *const *texts, size_t n, const char *indent,
	const char *after, struct al_text *out)
{
	begin_array(out, indent, name);
	for (size_t i = 0; i < n; i++) {
		begin_item(out, indent, i);
		al_json_quote(out, texts[i]);
	}
	end_array(out, indent, n, after);
}

static void write_table(const struct al_table *table, struct al_text *out)
{
	static const char indent[] = "      ";
	AL_ARENA(arena);
	bool *has_spread = al_new_array(&arena, bool, table->n_columns);
	for (size_t i = 0; i < table->n_columns; i++)
		has_spread[i] = al_column_has_spread(table, i);

	al_text_add(out, "{\n");
	add_member(out, indent, "id", table->id);
	add_member(out, indent, "title", table->title);
	write_columns(table, has_spread, indent, &arena, out);
	write_rows(table, has_spread, false, indent, out);
	write_rows(table, has_spread, true, indent, out);
	write_texts("notes", table->notes, table->n_notes, indent, "", out);
	al_text_add(out, "    }");
}

/* ---- the claim ---- */

/* RFC 6901: "/tables/0/rows/2/bytes"; NULL: the value has no cell in these tables. */
static const char *pointer_to(const struct al_answer_value *value,
	const struct al_table *const *tables, size_t n_tables, struct al_arena *arena)
{
	for (size_t i = 0; value->table && i < n_tables; i++) {
		const struct al_table *table = tables[i];
		size_t before = 0;
		if (strcmp(table->id, value->table) != 0 || value->row >= table->n_rows)
			continue;
		for (size_t row = 0; row < value->row; row++)
			before += is_total(table, row) == is_total(table, value->row);
		return al_format(arena, "/tables/%zu/%s/%zu/%s", i,
			is_total(table, value->row) ? "totals" : "rows", before, value->key);
	}
	return NULL;
}

static void write_value(const struct al_answer_value *value, const char *cell, struct al_text *out)
{
	al_text_add(out, "{\"name\": ");
	al_json_quote(out, value->name);
	al_text_add(out, ", \"value\": ");
	if (value->is_number)
		al_text_add(out, value->value);
	else
		al_json_quote(out, value->value);
	al_text_add(out, ", \"unit\": ");
	al_json_quote(out, value->unit);
	al_text_add(out, ", \"text\": ");
	al_json_quote(out, value->text);
	al_text_add(out, ", \"cell\": ");
	if (cell)
		al_json_quote(out, cell);
	else
		al_text_add(out, "null");
	al_text_add(out, "}");
}

static void write_claim(const struct al_claim *claim, const struct al_table *const *tables,
	size_t n_tables, struct al_text *out)
{
	static const char indent[] = "    ";

	AL_ARENA(arena);
	al_text_add(out, "  \"answer\": {\n");
	add_member(out, indent, "text", claim->text ? claim->text : "");
	begin_array(out, indent, "values");
	for (size_t i = 0; i < claim->n_values; i++) {
		begin_item(out, indent, i);
		write_value(&claim->values[i],
			pointer_to(&claim->values[i], tables, n_tables, &arena), out);
	}
	end_array(out, indent, claim->n_values, ",");
	write_texts("assumptions", claim->assumptions, claim->n_assumptions, indent, ",", out);
	write_texts("next", claim->next, claim->n_next, indent, "", out);
	al_text_add(out, "  },\n");
}

/* On one line. */
static void write_arguments(const char *const *arguments, struct al_text *out)
{
	al_text_add(out, "  \"arguments\": [");
	for (size_t i = 0; arguments[i]; i++) {
		al_text_add(out, i ? ", " : "");
		al_json_quote(out, arguments[i]);
	}
	al_text_add(out, "],\n");
}

static void write_all(const struct al_style *style, const struct al_table *const *tables,
	size_t n_tables, struct al_text *out)
{
	al_text_add(out, "{\n");
	add_member(out, "  ", "attnledger", al_version());
	if (style->command)
		add_member(out, "  ", "command", style->command);
	if (style->arguments)
		write_arguments(style->arguments, out);
	if (style->computed_with)
		add_member(out, "  ", "computed_with", style->computed_with);
	if (style->claim)
		write_claim(style->claim, tables, n_tables, out);
	begin_array(out, "  ", "tables");
	for (size_t i = 0; i < n_tables; i++) {
		begin_item(out, "  ", i);
		write_table(tables[i], out);
	}
	end_array(out, "  ", n_tables, "");
	al_text_add(out, "}\n");
}

const struct al_writer al_writer_json = {
	.name = "json",
	.extension = "json",
	.write_all = write_all,
};
