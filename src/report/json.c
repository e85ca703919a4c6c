/* JSON: an object of columns, rows and notes; one row a line, so that differences read well.
 * Integers are exact at any size; a missing cell and a real that is not finite are null. */

#include "base/json.h"
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

/* The members of a table's object. */
static void write_members(const struct al_table *table, const char *indent, struct al_text *out)
{
	AL_ARENA(arena);
	bool *has_spread = al_new_array(&arena, bool, table->n_columns);
	for (size_t i = 0; i < table->n_columns; i++)
		has_spread[i] = al_column_has_spread(table, i);

	add_member(out, indent, "id", table->id);
	add_member(out, indent, "title", table->title);
	write_columns(table, has_spread, indent, &arena, out);
	begin_array(out, indent, "rows");
	for (size_t i = 0; i < table->n_rows; i++) {
		begin_item(out, indent, i);
		write_row(table, table->rows[i], has_spread, out);
	}
	end_array(out, indent, table->n_rows, ",");
	begin_array(out, indent, "notes");
	for (size_t i = 0; i < table->n_notes; i++) {
		begin_item(out, indent, i);
		al_json_quote(out, table->notes[i]);
	}
	end_array(out, indent, table->n_notes, "");
}

static void write_all(const struct al_style *style, const struct al_table *const *tables,
	size_t n_tables, struct al_text *out)
{
	al_text_add(out, "{\n");
	add_member(out, "  ", "attnledger", al_version());
	if (style->command)
		add_member(out, "  ", "command", style->command);
	if (style->summary)
		add_member(out, "  ", "summary", style->summary);
	if (n_tables == 1) {
		write_members(tables[0], "  ", out);
	} else {
		begin_array(out, "  ", "tables");
		for (size_t i = 0; i < n_tables; i++) {
			begin_item(out, "  ", i);
			al_text_add(out, "{\n");
			write_members(tables[i], "      ", out);
			al_text_add(out, "    }");
		}
		end_array(out, "  ", n_tables, "");
	}
	al_text_add(out, "}\n");
}

const struct al_writer al_writer_json = {
	.name = "json",
	.extension = "json",
	.write_all = write_all,
};
