/* Markdown as GitHub reads it. It has no rules, so that totals are bold, and no headings over
 * several columns: a group comes before the title. */

#include "report/claim.h"
#include "report/writer.h"

static bool is_alphanumeric(char c)
{
	return al_is_digit(c) || al_is_letter(c);
}

/* An underscore within a word (d_model) is no emphasis, a lone & no entity: they stay readable. */
static bool is_special(const char *text, const char *p)
{
	if (*p == '_')
		return p == text || !is_alphanumeric(p[-1]) || !is_alphanumeric(p[1]);
	if (*p == '#')
		return p == text;
	if (*p == '&')
		return p[1] == '#' || is_alphanumeric(p[1]);
	return strchr("\\|*`<>[]~$", *p) != NULL;
}

static void add_escaped(struct al_text *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (is_special(text, p))
			al_text_add(out, "\\");
		al_text_add_bytes(out, p, 1);
	}
}

static void write_heads(const struct al_style *style, const struct al_table *table,
	struct al_arena *arena, struct al_text *out)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_column *column = &table->columns[i];
		al_text_add(out, i ? " | " : "| ");
		if (column->group) {
			add_escaped(out, al_printable(arena, column->group));
			al_text_add(out, ": ");
		}
		add_escaped(out, al_column_head(arena, style, column));
	}
	al_text_add(out, " |\n");
	for (size_t i = 0; i < table->n_columns; i++)
		al_text_add(out, al_column_is_number(table, i) ? "|--:" : "|:--");
	al_text_add(out, "|\n");
}

static void write_row(const struct al_style *style, const struct al_table *table,
	const struct al_cell *row, struct al_text *out)
{
	AL_ARENA(arena);
	for (size_t i = 0; i < table->n_columns; i++) {
		const char *cell = al_cell_display(&arena, style, &table->columns[i], &row[i]);
		const bool is_bold = row[0].is_total && *cell && row[i].kind != AL_CELL_MISSING;
		al_text_add(out, i ? " | " : "| ");
		al_text_add(out, is_bold ? "**" : "");
		if (row[i].kind == AL_CELL_TEXT)
			add_escaped(out, cell);
		else
			al_text_add(out, cell);
		al_text_add(out, is_bold ? "**" : "");
	}
	al_text_add(out, " |\n");
}

static void write_table(const struct al_style *style, const struct al_table *table,
	struct al_text *out)
{
	AL_ARENA(arena);
	if (*table->title) {
		al_text_add(out, "### ");
		add_escaped(out, al_printable(&arena, table->title));
		al_text_add(out, "\n\n");
	}
	if (table->n_columns > 0)
		write_heads(style, table, &arena, out);
	for (size_t i = 0; i < table->n_rows; i++)
		write_row(style, table, table->rows[i], out);
	for (size_t i = 0; i < table->n_notes; i++) {
		al_text_add(out, i ? "* " : "\n* ");
		add_escaped(out, al_printable(&arena, table->notes[i]));
		al_text_add(out, "\n");
	}
}

static void write_claim(const struct al_style *style, const char *claim, struct al_text *out)
{
	(void)style;
	add_escaped(out, claim);
}

static void write_end(const struct al_style *style, const struct al_claim *claim,
	struct al_text *out)
{
	(void)style;
	AL_ARENA(arena);
	for (size_t i = 0; i < claim->n_assumptions; i++) {
		al_text_add(out, i ? "; " : "\nAssumed: ");
		add_escaped(out, al_printable(&arena, claim->assumptions[i]));
	}
	al_text_add(out, claim->n_assumptions ? ".\n" : "");
	for (size_t i = 0; i < claim->n_next; i++)
		al_text_addf(out, "\n    %s\n", al_printable(&arena, claim->next[i]));
}

const struct al_writer al_writer_markdown = {
	.name = "markdown",
	.extension = "md",
	.is_for_people = true,
	.write_table = write_table,
	.write_claim = write_claim,
	.write_end = write_end,
};
