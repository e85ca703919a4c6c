/* A table's numbers one by one, under their paths. */
#include "report/numbers.h"

#include "base/json.h"
#include "report/latex_grid.h"

/* TABLE/ROW/COLUMN, a row being called by all cells that name it (the case without cases has no
 * name), a column as in CSV. */
static const char *path_of(struct al_arena *arena, const struct al_table *table, size_t row,
	size_t column)
{
	AL_TEXT(path);
	al_text_add(&path, table->id);
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_cell *cell = &table->rows[row][i];
		const char *number = al_cell_number_text(arena, cell);
		const char *name = number ? number : cell->text;
		if (table->columns[i].is_key && cell->kind != AL_CELL_MISSING && *name)
			al_text_addf(&path, "/%s", name);
	}
	al_text_addf(&path, "/%s", table->columns[column].key);
	return al_strdup(arena, path.data);
}

/* "M", " GiB", "%": the column head's unit for all of its numbers. */
static const char *unit_of(struct al_arena *arena, const struct al_column *column)
{
	const bool is_bytes = column->quantity == AL_QUANTITY_BYTES;
	const char *scale = column->scale ? column->scale : "";

	if (*scale && !is_bytes && strchr("kMB", *scale) && !scale[1])
		return scale;
	if (*scale)
		return al_format(arena, " %s", scale);
	if (strcmp(column->unit, "%") == 0)
		return column->unit;
	if (is_bytes && strcmp(column->unit, "B") == 0)
		return " bytes";
	return *column->unit ? al_format(arena, " %s", column->unit) : "";
}

static bool is_number(const struct al_cell *cell)
{
	return cell->kind == AL_CELL_EXACT || (cell->kind == AL_CELL_REAL && isfinite(cell->real));
}

/* ---- LaTeX ---- */

static void begin_latex(struct al_text *out, const char *title)
{
	al_text_add(out, "% ");
	for (const char *p = title; *p; p++)
		al_text_add_bytes(out, *p == '\n' || *p == '\r' ? " " : p, 1);
	al_text_add(out,
		"\n% \\input{numbers} before \\begin{document}, then \\ledger{PATH} "
		"prints a number.\n"
		"\\providecommand{\\ledger}[1]{\\ifcsname ledger@#1\\endcsname"
		"\\csname ledger@#1\\endcsname\\else\\errmessage{no number #1}\\fi}\n");
}

/* The cell alone: no mark of the best, and of siunitx's columns the numbers as in a text. */
static void add_number(struct al_text *out, const struct al_table *table, size_t column,
	const struct al_cell *cell)
{
	const struct al_style style = {0};
	struct al_table plain = *table;
	struct al_cell alone = *cell;

	if (plain.spread_form == AL_SPREAD_SIUNITX)
		plain.spread_form = AL_SPREAD_PLUS_MINUS;
	alone.is_best = alone.is_second = false;
	alone.mark = NULL;
	al_latex_add_number(out, &style, &plain, column, &alone);
}

static void add_unit(struct al_text *out, const char *unit)
{
	for (const char *p = unit; *p; p++)
		al_text_add(out, *p == ' ' ? "~" : *p == '%' ? "\\%" : (const char[]){*p, '\0'});
}

/* A paper may ask for a number within its own mathematics, where a dollar would end it. */
static void add_ensured(struct al_text *out, const struct al_text *latex)
{
	bool is_open = false;

	for (const char *p = latex->data; *p; p++) {
		if (*p != '$' || (p > latex->data && p[-1] == '\\')) {
			al_text_add_bytes(out, p, 1);
			continue;
		}
		al_text_add(out, is_open ? "}" : "\\ensuremath{");
		is_open = !is_open;
	}
}

static void add_latex(struct al_text *out, const struct al_table *table, size_t row, size_t column)
{
	const struct al_cell *cell = &table->rows[row][column];

	if (!is_number(cell) && !cell->latex)
		return;
	AL_ARENA(arena);
	AL_TEXT(latex);
	const char *path = path_of(&arena, table, row, column);
	if (is_number(cell)) {
		add_number(&latex, table, column, cell);
		add_unit(&latex, unit_of(&arena, &table->columns[column]));
	} else
		al_text_add(&latex, cell->latex);
	/* a path with one of these can't be an argument */
	if (!strpbrk(path, "\\%#{}~\"")) {
		al_text_addf(out, "\\expandafter\\def\\csname ledger@%s\\endcsname{", path);
		add_ensured(out, &latex);
		al_text_add(out, "}\n");
	}
}

/* ---- JSON ---- */

static void add_json(struct al_numbers *numbers, const struct al_table *table, size_t row,
	size_t column)
{
	const struct al_style style = {0};
	struct al_cell cell = table->rows[row][column];
	struct al_text *out = &numbers->json;

	cell.mark = NULL;
	if (!is_number(&cell))
		return;
	AL_ARENA(arena);
	al_text_add(out, numbers->n++ ? ",\n    " : "\n    ");
	al_json_quote(out, path_of(&arena, table, row, column));
	al_text_addf(out, ": {\"value\": %s, \"text\": ", al_cell_number_text(&arena, &cell));
	al_json_quote(out,
		al_format(&arena, "%s%s",
			al_cell_display(&arena, &style, &table->columns[column], &cell),
			unit_of(&arena, &table->columns[column])));
	al_text_add(out, "}");
}

/* ---- both ---- */

void al_numbers_begin(struct al_numbers *numbers, const char *title)
{
	al_text_init(&numbers->latex);
	al_text_init(&numbers->json);
	begin_latex(&numbers->latex, title);
	al_text_add(&numbers->json, "{\n  \"title\": ");
	al_json_quote(&numbers->json, title);
	al_text_add(&numbers->json, ",\n  \"numbers\": {");
	numbers->n = 0;
}

void al_numbers_add(struct al_numbers *numbers, const struct al_table *table)
{
	for (size_t row = 0; row < table->n_rows; row++)
		for (size_t i = 0; i < table->n_columns; i++) {
			if (table->columns[i].is_key)
				continue;
			add_latex(&numbers->latex, table, row, i);
			add_json(numbers, table, row, i);
		}
}

void al_numbers_end(struct al_numbers *numbers)
{
	al_text_add(&numbers->json, numbers->n ? "\n  }\n}\n" : "}\n}\n");
}

void al_numbers_finish(struct al_numbers *numbers)
{
	al_text_finish(&numbers->latex);
	al_text_finish(&numbers->json);
}
