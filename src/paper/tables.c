/* Tables of a paper: the text between \begin{tabular} and its end; runs of lines with tabs, and
 * Markdown's lines between bars. */

#include "paper/paper.h"

static struct al_paper_table *begin_table(struct al_paper *paper)
{
	return AL_APPEND(&paper->arena, paper->tables, paper->n_tables, paper->tables_room);
}

static struct al_paper_row *begin_row(struct al_paper *paper, struct al_paper_table *table,
	size_t line)
{
	struct al_paper_row *row = AL_APPEND(&paper->arena, table->rows, table->n_rows,
		table->rows_room);

	*row = (struct al_paper_row){.line = line};
	return row;
}

static void add_cell(struct al_paper *paper, struct al_paper_table *table, struct al_paper_row *row,
	const char *text, size_t length)
{
	*AL_APPEND(&paper->arena, row->cells, row->n_cells,
		row->cells_room) = al_paper_plain(&paper->arena, text, length);
	if (row->n_cells > table->n_columns)
		table->n_columns = row->n_cells;
}

/* ---- LaTeX ---- */

/* A text with the number of the line that it is in. */
struct reader {
	struct al_paper *paper;
	size_t line; /* index */
	size_t at; /* in the line; its length is the line's end */
};

static const struct al_paper_line *line_of(const struct reader *r)
{
	return &r->paper->lines[r->line];
}

static bool begins(const struct reader *r, const char *word)
{
	const size_t n = strlen(word);

	return line_of(r)->length - r->at >= n && memcmp(line_of(r)->text + r->at, word, n) == 0;
}

/* The next character, a line's end being a space; '\0' at the text's end. */
static char next(struct reader *r)
{
	if (r->line >= r->paper->n_lines)
		return '\0';
	if (r->at < line_of(r)->length)
		return line_of(r)->text[r->at++];
	r->line++;
	r->at = 0;
	return r->line < r->paper->n_lines ? ' ' : '\0';
}

/* Finds the word from here on, and goes behind it; false at the text's end. */
static bool find(struct reader *r, const char *word)
{
	while (r->line < r->paper->n_lines) {
		if (begins(r, word)) {
			r->at += strlen(word);
			return true;
		}
		next(r);
	}
	return false;
}

/* {...}, which may hold others; into `out` where it isn't NULL. */
static void take_group(struct reader *r, struct al_text *out)
{
	int depth = 0;
	char c;

	while ((c = next(r)) && (c == ' ' && depth == 0))
		;
	for (; c; c = next(r)) {
		depth += (c == '{') - (c == '}');
		if (out && (depth > 1 || (depth == 1 && c != '{')))
			al_text_add_bytes(out, &c, 1);
		if (depth == 0)
			return;
	}
}

/* "[...]" if it is here. */
static void take_option(struct reader *r, char open, char close)
{
	char c;

	if (r->line < r->paper->n_lines && r->at < line_of(r)->length
		&& line_of(r)->text[r->at] == open)
		while ((c = next(r)) && c != close)
			;
}

struct cell {
	struct al_text text;
	size_t span;
};

static void end_cell(struct al_paper *paper, struct al_paper_table *table, struct al_paper_row *row,
	struct cell *cell)
{
	add_cell(paper, table, row, cell->text.data, cell->text.length);
	for (; cell->span > 1; cell->span--)
		add_cell(paper, table, row, "", 0);
	cell->span = 1;
	cell->text.length = 0;
	cell->text.data[0] = '\0';
}

/* \multicolumn{3}{c}{GLUE}: three cells, the first of which has the text. */
static void take_multicolumn(struct reader *r, struct cell *cell)
{
	enum { MOST_SPAN = 64 };
	int64_t span = 1;
	AL_TEXT(number);

	take_group(r, &number);
	al_read_digits(number.data, &span);
	cell->span = span < 1 ? 1 : span < MOST_SPAN ? (size_t)span : MOST_SPAN;
	take_group(r, NULL);
	take_group(r, &cell->text);
}

/* Rules, and what else in a table is no cell's text; false where none is here. */
static bool pass_over(struct reader *r)
{
	static const struct {
		const char *macro;
		bool has_group;
	} skipped[] = {{"\\toprule", false}, {"\\midrule", false}, {"\\bottomrule", false},
		{"\\hline", false}, {"\\cmidrule", true}, {"\\cline", true}, {"\\label", true},
		{"\\vspace", true}};

	for (size_t i = 0; i < sizeof(skipped) / sizeof(*skipped); i++) {
		if (!begins(r, skipped[i].macro))
			continue;
		r->at += strlen(skipped[i].macro);
		if (skipped[i].has_group) {
			take_option(r, '(', ')');
			take_group(r, NULL);
		}
		return true;
	}
	return false;
}

static void read_rows(struct reader *r, struct al_paper_table *table)
{
	struct al_paper *paper = r->paper;
	struct al_paper_row *row = NULL;
	struct cell cell = {.span = 1};
	char c = ' ';

	al_text_init(&cell.text);
	while (c && r->line < paper->n_lines && !begins(r, "\\end{tabular")) {
		paper->lines[r->line].is_of_table = true;
		if (pass_over(r))
			continue;
		if (!row)
			row = begin_row(paper, table, r->line + 1);
		if (begins(r, "\\multicolumn")) {
			r->at += strlen("\\multicolumn");
			take_multicolumn(r, &cell);
		} else if (begins(r, "\\\\") || begins(r, "\\tabularnewline")) {
			r->at += begins(r, "\\\\") ? 2 : strlen("\\tabularnewline");
			take_option(r, '[', ']');
			end_cell(paper, table, row, &cell);
			row = NULL;
		} else if (begins(r, "\\&")) {
			r->at += 2;
			al_text_add(&cell.text, "\\&");
		} else if ((c = next(r)) == '&')
			end_cell(paper, table, row, &cell);
		else if (c && (c != ' ' || cell.text.length > 0 || row->n_cells > 0))
			al_text_add_bytes(&cell.text, &c, 1);
		else if (c)
			row->line = r->line + 1;
	}
	if (row && (row->n_cells > 0 || cell.text.length > 0))
		end_cell(paper, table, row, &cell);
	else if (row)
		table->n_rows--;
	al_text_finish(&cell.text);
}

static const char word[] = "\\begin{tabular";

/* \begin{tabular}[t]{lrr}, \begin{tabular*}{\linewidth}{lrr} */
static bool read_tabular(struct reader *r, struct al_error *err)
{
	const struct reader begin = *r;
	struct al_paper_table *table = begin_table(r->paper);

	if (begins(r, "*}") || begins(r, "x}")) {
		r->at += 2;
		take_group(r, NULL);
	} else
		r->at += begins(r, "}");
	take_option(r, '[', ']');
	take_group(r, NULL);
	read_rows(r, table);
	return r->line < r->paper->n_lines
		|| al_fail(err, AL_EINPUT, "%s:%zu:%zu: the tabular never ends",
			line_of(&begin)->file, line_of(&begin)->number,
			line_of(&begin)->column + begin.at - strlen(word) + 1);
}

static bool find_tabulars(struct al_paper *paper, struct al_error *err)
{
	struct reader r = {.paper = paper};

	while (find(&r, word))
		if (!read_tabular(&r, err))
			return false;
	return true;
}

/* ---- lines ---- */

/* The separator of a line's cells; 0 where the line belongs to no table. */
static char separator_of(const struct al_paper *paper, const struct al_paper_line *line)
{
	size_t i = 0;

	while (i < line->length && line->text[i] == ' ')
		i++;
	if (paper->kind == AL_PAPER_MARKDOWN && i < line->length && line->text[i] == '|')
		return '|';
	return memchr(line->text, '\t', line->length) ? '\t' : '\0';
}

static void add_cells(struct al_paper *paper, struct al_paper_table *table, size_t line)
{
	const char *text = paper->lines[line].text, *end = text + paper->lines[line].length;
	const char separator = separator_of(paper, &paper->lines[line]);
	struct al_paper_row *row = begin_row(paper, table, line + 1);

	if (separator == '|')
		text = (const char *)memchr(text, '|', (size_t)(end - text)) + 1;
	for (const char *p = text; p <= end; p++) {
		if (p < end && (*p != separator || (p > text && p[-1] == '\\')))
			continue;
		if (p < end || separator == '\t' || p > text)
			add_cell(paper, table, row, text, (size_t)(p - text));
		text = p + 1;
	}
}

static void add_table(struct al_paper *paper, size_t first, size_t n)
{
	struct al_paper_table *table = begin_table(paper);

	for (size_t i = first; i < first + n; i++) {
		paper->lines[i].is_of_table = true;
		const struct al_paper_line *line = &paper->lines[i];
		const bool is_rule = strspn(line->text, "|:- ") >= line->length; /* "|---|:--:|" */
		if (!is_rule || separator_of(paper, line) == '\t')
			add_cells(paper, table, i);
	}
}

bool al_paper_find_tables(struct al_paper *paper, struct al_error *err)
{
	if (paper->kind == AL_PAPER_TEX)
		return find_tabulars(paper, err);
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
