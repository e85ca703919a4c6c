/* Tables of a paper: runs of lines with tabs, and Markdown's lines between bars. */
#include <string.h>

#include "paper/paper.h"

struct al_paper_table *al_paper_add_table(struct al_paper *paper)
{
	return AL_APPEND(&paper->arena, paper->tables, paper->n_tables, paper->tables_room);
}

struct al_paper_row *al_paper_add_row(struct al_paper *paper, struct al_paper_table *table,
	size_t line)
{
	struct al_paper_row *row = AL_APPEND(&paper->arena, table->rows, table->n_rows,
		table->rows_room);

	*row = (struct al_paper_row){.line = line};
	return row;
}

void al_paper_add_cell(struct al_paper *paper, struct al_paper_table *table,
	struct al_paper_row *row, const char *text, size_t length)
{
	*AL_APPEND(&paper->arena, row->cells, row->n_cells,
		row->cells_room) = al_paper_plain(&paper->arena, text, length);
	if (row->n_cells > table->n_columns)
		table->n_columns = row->n_cells;
}

/* What parts a line's cells; 0 where the line is of no table. */
static char separator_of(const struct al_paper *paper, const struct al_paper_line *line)
{
	size_t i = 0;

	while (i < line->length && line->text[i] == ' ')
		i++;
	if (paper->kind == AL_PAPER_MARKDOWN && i < line->length && line->text[i] == '|')
		return '|';
	return memchr(line->text, '\t', line->length) ? '\t' : '\0';
}

/* "|---|:--:|" */
static bool is_rule(const struct al_paper_line *line)
{
	for (size_t i = 0; i < line->length; i++)
		if (!strchr("|:- ", line->text[i]))
			return false;
	return true;
}

static void add_cells(struct al_paper *paper, struct al_paper_table *table, size_t line)
{
	const char *text = paper->lines[line].text, *end = text + paper->lines[line].length;
	const char separator = separator_of(paper, &paper->lines[line]);
	struct al_paper_row *row = al_paper_add_row(paper, table, line + 1);

	if (separator == '|')
		text = (const char *)memchr(text, '|', (size_t)(end - text)) + 1;
	for (const char *p = text; p <= end; p++) {
		if (p < end && (*p != separator || (p > text && p[-1] == '\\')))
			continue;
		if (p < end || separator == '\t' || p > text)
			al_paper_add_cell(paper, table, row, text, (size_t)(p - text));
		text = p + 1;
	}
}

static void add_table(struct al_paper *paper, size_t first, size_t n)
{
	struct al_paper_table *table = al_paper_add_table(paper);

	for (size_t i = first; i < first + n; i++) {
		paper->lines[i].is_of_table = true;
		if (!is_rule(&paper->lines[i]) || separator_of(paper, &paper->lines[i]) == '\t')
			add_cells(paper, table, i);
	}
}

bool al_paper_find_tables(struct al_paper *paper, struct al_error *err)
{
	if (paper->kind == AL_PAPER_TEX)
		return al_paper_find_tabulars(paper, err);
	for (size_t i = 0; i < paper->n_lines;) {
		const char separator = separator_of(paper, &paper->lines[i]);
		size_t n = 1;
		while (separator && i + n < paper->n_lines
			&& separator_of(paper, &paper->lines[i + n]) == separator)
			n++;
		if (separator && n > 1)
			add_table(paper, i, n);
		i += n;
	}
	return true;
}
