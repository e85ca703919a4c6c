/* Tables of a paper: the text between \begin{tabular} and its end; runs of lines with tabs, and
 * Markdown's lines between bars. */

#include "paper/paper.h"

#include "paper/words.h"

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

const char al_paper_spanned[] = "";

static void add_text(struct al_paper *paper, struct al_paper_table *table, struct al_paper_row *row,
	const char *text)
{
	*AL_APPEND(&paper->arena, row->cells, row->n_cells, row->cells_room) = text;
	table->n_columns = al_most(row->n_cells, table->n_columns);
}

static void add_cell(struct al_paper *paper, struct al_paper_table *table, struct al_paper_row *row,
	const char *text, size_t length)
{
	add_text(paper, table, row, al_paper_cell_text(&paper->arena, text, length));
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

	while ((c = next(r)) == ' ')
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

/* A cell that goes on in the rows below it. */
struct tall {
	size_t row, column, n_rows;
};

/* What a cell prints below its first line. */
struct below {
	size_t column, line; /* from 1 */
	const char *text;
};

struct rows {
	struct al_paper_table *table;
	struct al_paper_row *row; /* NULL: none is begun */
	struct al_text text; /* of the cell */
	size_t columns, n_rows; /* that it is in */
	int n_braces, n_inner; /* open ones, and tables within it: "&" and "\\" are theirs */
	bool has_rule; /* above the next row that ends */
	size_t n_first; /* rows of a head that later pages repeat; 0: none */
	struct tall *tall;
	struct below *below; /* of this row */
	size_t n_tall, tall_room, n_below, below_room;
};

static void end_cell(struct al_paper *paper, struct rows *t)
{
	if (t->n_rows > 1)
		*AL_APPEND(&paper->arena, t->tall, t->n_tall,
			t->tall_room) = (struct tall){t->table->n_rows - 1, t->row->n_cells,
			t->n_rows};
	const char *lines[AL_PAPER_MOST_LINES];
	const size_t n = al_paper_cell_lines(&paper->arena, t->text.data, lines);
	for (size_t i = 1; i < n; i++)
		*AL_APPEND(&paper->arena, t->below, t->n_below,
			t->below_room) = (struct below){t->row->n_cells, i, lines[i]};
	if (n > 0)
		add_text(paper, t->table, t->row, lines[0]);
	else
		add_cell(paper, t->table, t->row, t->text.data, t->text.length);
	for (; t->columns > 1; t->columns--)
		add_text(paper, t->table, t->row, al_paper_spanned);
	t->columns = t->n_rows = 1;
	t->text.length = 0;
	t->text.data[0] = '\0';
}

/* What its cells print below their first lines are rows of their own. */
static void end_row(struct al_paper *paper, struct rows *t)
{
	const size_t line = t->row->line, n_cells = t->row->n_cells;
	size_t n_left = t->n_below;

	t->row->has_rule = t->has_rule;
	t->has_rule = false;

	for (size_t k = 1; n_left > 0; k++) {
		struct al_paper_row *row = begin_row(paper, t->table, line);
		for (size_t column = 0; column < n_cells; column++) {
			const char *text = "";
			for (size_t i = 0; i < t->n_below; i++)
				if (t->below[i].column == column && t->below[i].line == k) {
					text = t->below[i].text;
					n_left--;
				}
			add_text(paper, t->table, row, text);
		}
	}
	t->n_below = 0;
	t->row = NULL;
	if (t->table->n_rows == 1 && n_cells == 1 && !*t->table->rows[0].cells[0])
		t->table->n_rows = 0; /* behind a caption */
}

/* The cells below a tall one are empty, and mean what it prints. */
static void fill(const struct rows *t)
{
	for (size_t i = 0; i < t->n_tall; i++) {
		const struct tall *tall = &t->tall[i];
		const char *text = t->table->rows[tall->row].cells[tall->column];
		for (size_t k = 1; k < tall->n_rows && tall->row + k < t->table->n_rows; k++) {
			struct al_paper_row *row = &t->table->rows[tall->row + k];
			if (tall->column >= row->n_cells || *row->cells[tall->column])
				break;
			row->cells[tall->column] = text;
		}
	}
}

static size_t take_count(struct reader *r, size_t most)
{
	int64_t count = 1;
	AL_TEXT(number);

	take_group(r, &number);
	al_read_digits(number.data, &count);
	return al_least((size_t)al_most(count, 1), most);
}

/* \multicolumn{3}{c}{GLUE}: three cells, the first of which has the text. \multirow{2}{*}{MHA} is
 * the same of rows. */
static bool take_span(struct reader *r, struct rows *t)
{
	enum { MOST_COLUMNS = 64 };
	const bool is_wide = begins(r, "\\multicolumn");

	if (!is_wide && !begins(r, "\\multirow{") && !begins(r, "\\multirow["))
		return false;
	r->at += strlen(is_wide ? "\\multicolumn" : "\\multirow");
	take_option(r, '[', ']');
	if (is_wide)
		t->columns = take_count(r, MOST_COLUMNS);
	else
		t->n_rows = take_count(r, SIZE_MAX);
	take_option(r, '[', ']');
	take_group(r, NULL);
	take_option(r, '[', ']');
	take_group(r, &t->text);
	return true;
}

/* A head of the first page is the table's; those of later pages and feet are dropped. */
static void end_head(struct rows *t)
{
	if (t->row && (t->row->n_cells > 0 || t->text.length > 0))
		return; /* a row that isn't ended */
	t->table->n_rows -= t->row != NULL;
	t->row = NULL;
	if (t->n_first > 0)
		t->table->n_rows = t->n_first;
	t->n_first = t->table->n_rows;
	while (t->n_tall > 0 && t->tall[t->n_tall - 1].row >= t->n_first)
		t->n_tall--;
}

/* Rules, and what else in a table is no cell's text; false where none is here. */
static bool pass_over(struct reader *r, struct rows *t)
{
	static const struct {
		const char *macro;
		int n_groups;
		enum { OTHER, RULE, HEAD_END } kind; /* RULE: over the whole width */
	} skipped[] = {{"\\toprule", 0, RULE}, {"\\midrule", 0, RULE}, {"\\bottomrule", 0, RULE},
		{"\\botrule", 0, RULE}, {"\\hline", 0, RULE}, {"\\hdashline", 0, RULE},
		{"\\specialrule", 3, RULE}, {"\\endfirsthead", 0, HEAD_END},
		{"\\endhead", 0, HEAD_END}, {"\\endfoot", 0, HEAD_END},
		{"\\endlastfoot", 0, HEAD_END}, {"\\cmidrule", 1, OTHER}, {"\\cline", 1, OTHER},
		{"\\label", 1, OTHER}, {"\\vspace", 1, OTHER}, {"\\addlinespace", 0, OTHER},
		{"\\noalign", 1, OTHER}, {"\\rowcolor", 1, OTHER}, {"\\arrayrulecolor", 1, OTHER},
		{"\\caption", 1, OTHER}, {"\\centering", 0, OTHER}};

	for (size_t i = 0; i < sizeof(skipped) / sizeof(*skipped); i++) {
		if (!begins(r, skipped[i].macro))
			continue;
		r->at += strlen(skipped[i].macro);
		t->has_rule |= skipped[i].kind != OTHER;
		if (skipped[i].kind == HEAD_END)
			end_head(t);
		take_option(r, '[', ']');
		take_option(r, '(', ')');
		for (int k = 0; k < skipped[i].n_groups; k++)
			take_group(r, NULL);
		return true;
	}
	return false;
}

static const char begin_word[] = "\\begin{", end_word[] = "\\end{";

/* Environments that make a table, and whether their width comes first. */
static const struct environment {
	const char *name;
	bool has_width;
} environments[] = {{"tabular}", false}, {"tabular*}", true}, {"tabularx}", true},
	{"tabulary}", true}, {"longtable}", false}, {"xltabular}", true}, {"supertabular}", false},
	{"NiceTabular}", false}, {"tblr}", false}, {"longtblr}", false}, {"talltblr}", false},
	{"tabu}", false}, {"longtabu}", false}};

static const struct environment *environment_at(const struct reader *r, const char *word)
{
	struct reader name = *r;

	if (!begins(r, word))
		return NULL;
	name.at += strlen(word);
	for (size_t i = 0; i < sizeof(environments) / sizeof(*environments); i++)
		if (begins(&name, environments[i].name))
			return &environments[i];
	return NULL;
}

/* \begin{tabular}[t]{lrr}, \begin{tabular*}{\linewidth}{lrr} */
static void take_begin(struct reader *r, const struct environment *environment)
{
	r->at += strlen(begin_word) + strlen(environment->name);
	if (environment->has_width)
		take_group(r, NULL);
	take_option(r, '[', ']');
	take_group(r, NULL);
}

/* The end of a cell or a row, where it is not within a group. */
static bool take_end(struct reader *r, struct rows *t)
{
	const bool is_short = begins(r, "\\\\");

	if (!is_short && !begins(r, "\\tabularnewline")) {
		if (!begins(r, "&"))
			return false;
		r->at++;
		end_cell(r->paper, t);
		return true;
	}
	r->at += is_short ? 2 : strlen("\\tabularnewline");
	r->at += begins(r, "*");
	take_option(r, '[', ']');
	end_cell(r->paper, t);
	end_row(r->paper, t);
	return true;
}

/* A table within a cell is text of that cell; so is what its "&" separates. */
static bool take_inner(struct reader *r, struct rows *t)
{
	const struct environment *inner = environment_at(r, begin_word);
	const struct environment *end = environment_at(r, end_word);

	if (inner) {
		take_begin(r, inner);
		t->n_inner++;
	} else if (end) {
		r->at += strlen(end_word) + strlen(end->name);
		t->n_inner--;
	}
	return inner || end;
}

static char take_text(struct reader *r, struct rows *t)
{
	const char c = next(r);

	t->n_braces += (c == '{') - (c == '}');
	if (c && (c != ' ' || t->text.length > 0 || t->row->n_cells > 0))
		al_text_add_bytes(&t->text, &c, 1);
	else if (c)
		t->row->line = r->line + 1;
	if (c == '\\' && r->line < r->paper->n_lines && r->at < line_of(r)->length)
		al_text_add_bytes(&t->text, &line_of(r)->text[r->at++], 1);
	return c;
}

static void read_rows(struct reader *r, struct al_paper_table *table)
{
	struct al_paper *paper = r->paper;
	struct rows t = {.table = table, .columns = 1, .n_rows = 1};
	char c = ' ';

	al_text_init(&t.text);
	while (c && r->line < paper->n_lines && (t.n_inner > 0 || !environment_at(r, end_word))) {
		paper->lines[r->line].is_of_table = true;
		if (pass_over(r, &t))
			continue;
		if (!t.row) {
			t.row = begin_row(paper, table, r->line + 1);
			t.n_braces = 0;
		}
		if (take_inner(r, &t)
			|| (t.n_inner == 0 && t.n_braces <= 0
				&& (take_span(r, &t) || take_end(r, &t))))
			continue;
		c = take_text(r, &t);
	}
	if (t.row && (t.row->n_cells > 0 || t.text.length > 0)) {
		end_cell(paper, &t);
		end_row(paper, &t);
	} else if (t.row)
		table->n_rows--;
	fill(&t);
	al_text_finish(&t.text);
}

static bool find_tabulars(struct al_paper *paper, struct al_error *err)
{
	struct reader r = {.paper = paper};

	while (find(&r, begin_word)) {
		r.at -= strlen(begin_word);
		const struct environment *environment = environment_at(&r, begin_word);
		const struct reader begin = r;
		if (!environment) {
			r.at++;
			continue;
		}
		take_begin(&r, environment);
		read_rows(&r, begin_table(paper));
		if (r.line >= paper->n_lines)
			return al_fail(err, AL_EINPUT, "%s:%zu:%zu: the tabular never ends",
				line_of(&begin)->file, line_of(&begin)->number,
				line_of(&begin)->column + begin.at + 1);
	}
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

static struct al_paper_row *add_cells(struct al_paper *paper, struct al_paper_table *table,
	size_t line)
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
	return row;
}

static void add_table(struct al_paper *paper, size_t first, size_t n)
{
	struct al_paper_table *table = begin_table(paper);
	bool has_rule = false; /* "|---|:--:|" */

	for (size_t i = first; i < first + n; i++) {
		paper->lines[i].is_of_table = true;
		const struct al_paper_line *line = &paper->lines[i];
		const bool is_rule = strspn(line->text, "|:- ") >= line->length
			&& separator_of(paper, line) != '\t';
		if (!is_rule)
			add_cells(paper, table, i)->has_rule = has_rule;
		has_rule = is_rule;
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
