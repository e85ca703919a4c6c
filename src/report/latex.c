/* LaTeX: a table environment of booktabs rules that compiles as it is (\usepackage{booktabs};
 * {siunitx} where the table asks for its columns, {multirow} where names of rows are merged,
 * {array} where texts are wrapped). */

#include "report/latex_layout.h"

/* So many tables that have no place yet LaTeX keeps (18 in old versions). */
enum { MOST_WAITING = 12 };

/* A table as it is being printed. */
struct printing {
	const struct al_table *table;
	struct al_latex_layout layout;
	struct al_arena *arena;
	struct al_text *out;
};

/* ---- heads ---- */

static void write_group_names(struct printing *p, const struct al_latex_part *part)
{
	const struct al_latex_grid *grid = &p->layout.grid;

	for (size_t i = 0, end; i < part->n; i = end) {
		const char *group = grid->columns[part->columns[i]].group;
		end = al_latex_group_end(grid, part, i);
		al_text_add(p->out, i ? " & " : "");
		if (group)
			al_text_addf(p->out, "\\multicolumn{%zu}{c}{%s}", end - i, group);
	}
	al_text_add(p->out, " \\\\\n");
	for (size_t i = 0, end; i < part->n; i = end) {
		end = al_latex_group_end(grid, part, i);
		if (grid->columns[part->columns[i]].group)
			al_text_addf(p->out, "\\cmidrule(lr){%zu-%zu}", i + 1, end);
	}
	al_text_add(p->out, "\n");
}

static void write_heads(struct printing *p, const struct al_latex_part *part)
{
	al_text_add(p->out, "\\toprule\n");
	if (al_latex_has_groups(&p->layout.grid))
		write_group_names(p, part);
	for (size_t i = 0; i < part->n; i++) {
		const struct al_latex_column *column = &p->layout.grid.columns[part->columns[i]];
		const bool is_braced = al_latex_is_braced(column);
		al_text_add(p->out, i ? " & " : "");
		al_text_addf(p->out, "%s%s%s", is_braced ? "{" : "", column->head,
			is_braced ? "}" : "");
	}
	al_text_add(p->out, " \\\\\n\\midrule\n");
}

/* ---- rows ---- */

/* How many rows from this one on are called the same first. */
static size_t rows_alike(const struct printing *p, size_t row, size_t end)
{
	const struct al_latex_grid *grid = &p->layout.grid;
	size_t n = 1;

	while (row + n < end && strcmp(grid->rows[row][0], grid->rows[row + n][0]) == 0)
		n++;
	return n;
}

static bool merges(const struct printing *p, const struct al_latex_part *part)
{
	return p->table->placing.merges_keys && part->n > 1
		&& p->layout.grid.columns[part->columns[0]].is_key
		&& p->layout.grid.columns[part->columns[1]].is_key
		&& !(p->layout.wrap_pt && p->layout.wrap_pt[0] > 0);
}

/* The name of several rows is in the first of them alone, a rule before it. */
static void write_merged_name(struct printing *p, size_t row, size_t from, size_t end)
{
	const char *name = p->layout.grid.rows[row][0];

	if (row > from && strcmp(name, p->layout.grid.rows[row - 1][0]) == 0)
		return;
	al_text_add(p->out, row > from ? "\\midrule\n" : "");
	if (rows_alike(p, row, end) > 1)
		al_text_addf(p->out, "\\multirow{%zu}{*}{%s}", rows_alike(p, row, end), name);
	else
		al_text_add(p->out, name);
}

static void write_rows(struct printing *p, const struct al_latex_part *part, size_t from,
	size_t end)
{
	const bool is_merged = merges(p, part);

	for (size_t row = from; row < end; row++) {
		if (p->layout.grid.has_rule && p->layout.grid.has_rule[row] && row > from)
			al_text_add(p->out, "\\midrule\n");
		for (size_t i = 0; i < part->n; i++) {
			al_text_add(p->out, i ? " & " : "");
			if (i == 0 && is_merged)
				write_merged_name(p, row, from, end);
			else
				al_text_add(p->out, p->layout.grid.rows[row][part->columns[i]]);
		}
		al_text_add(p->out, " \\\\\n");
	}
}

static void write_specs(struct printing *p, const struct al_latex_part *part)
{
	const double *wrap_pt = p->layout.wrap_pt;
	const char *edge = p->layout.size ? "@{}" : "";

	al_text_addf(p->out, "\\begin{tabular}{%s", edge);
	for (size_t i = 0; i < part->n; i++) {
		const size_t column = part->columns[i];
		if (wrap_pt && wrap_pt[column] > 0)
			al_text_addf(p->out, ">{\\raggedright\\arraybackslash}p{%.1fpt}",
				wrap_pt[column]);
		else
			al_text_add(p->out, p->layout.grid.columns[column].spec);
	}
	al_text_addf(p->out, "%s}\n", edge);
}

static void write_tabular(struct printing *p, const struct al_latex_part *part, size_t from,
	size_t end)
{
	write_specs(p, part);
	write_heads(p, part);
	write_rows(p, part, from, end);
	al_text_add(p->out, "\\bottomrule\n\\end{tabular}\n");
}

/* ---- the table ---- */

static void write_notes(struct printing *p)
{
	const struct al_table *table = p->table;

	if (table->n_notes == 0 || table->placing.hides_notes)
		return;
	al_text_addf(p->out, "\n\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize%s\n",
		p->layout.size ? "\\raggedright" : "");
	for (size_t i = 0; i < table->n_notes; i++) {
		al_latex_add_escaped(p->out, al_printable(p->arena, table->notes[i]));
		al_text_add(p->out, "\\par\n");
	}
	al_text_add(p->out, "\\end{minipage}\n");
}

/* A label takes no special characters. */
static void write_label(struct printing *p)
{
	const char *label = p->table->placing.label;

	al_text_add(p->out, label ? "\\label{" : "\\label{tab:");
	for (const char *c = label ? label : p->table->id; *c; c++)
		al_text_add_bytes(p->out, strchr("\\{}%#&$~^_ ,", *c) ? "-" : c, 1);
	al_text_add(p->out, "}\n");
}

/* A table that goes on is called as the first part, and isn't labeled again. */
static void write_caption(struct printing *p, bool goes_on)
{
	if (!*p->table->title)
		return;
	al_text_add(p->out, "\\caption{");
	al_latex_add_escaped(p->out, al_printable(p->arena, p->table->title));
	al_text_add(p->out, goes_on ? " (continued)}\n" : "}\n");
	if (!goes_on)
		write_label(p);
	al_text_add(p->out, "\\smallskip\n");
}

static void write_type(struct printing *p)
{
	const char *size = p->layout.size ? p->layout.size->name : p->table->placing.size;

	if (size)
		al_text_addf(p->out, "\\%s\n", size);
	if (p->layout.size)
		al_text_addf(p->out, "\\setlength{\\tabcolsep}{%gpt}\n", p->layout.gap_pt);
}

static void begin_table(struct printing *p, bool goes_on)
{
	al_text_addf(p->out, "\\begin{table%s}\n\\centering%s\n", p->layout.is_wide ? "*" : "",
		p->layout.size ? "\\sloppy" : "");
	write_caption(p, goes_on);
	write_type(p);
}

static void end_table(struct printing *p)
{
	write_notes(p);
	al_text_addf(p->out, "\\end{table%s}\n", p->layout.is_wide ? "*" : "");
}

/* All parts below each other. */
static void write_whole(struct printing *p)
{
	begin_table(p, false);
	for (size_t i = 0; i < p->layout.n_parts && p->table->n_columns > 0; i++) {
		al_text_add(p->out, i ? "\n\\medskip\n" : "");
		write_tabular(p, &p->layout.parts[i], 0, p->layout.grid.n_rows);
	}
	end_table(p);
}

/* Each part, and so many rows of it as a page holds, as a table of its own. */
static void write_split(struct printing *p)
{
	const size_t n_rows = p->layout.grid.n_rows, most = p->layout.most_rows;
	size_t n_tables = 0;

	for (size_t i = 0; i < p->layout.n_parts; i++)
		for (size_t row = 0; row < n_rows; row += most) {
			const bool goes_on = i > 0 || row > 0;
			al_text_add(p->out, goes_on ? "\n" : "");
			if (n_tables++ % MOST_WAITING == MOST_WAITING - 1)
				al_text_add(p->out, "\\clearpage\n");
			begin_table(p, goes_on);
			write_tabular(p, &p->layout.parts[i], row, al_least(row + most, n_rows));
			end_table(p);
		}
}

static void write_table(const struct al_style *style, const struct al_table *table,
	struct al_text *out)
{
	struct al_latex_grid grid;
	AL_ARENA(arena);
	struct printing p = {.table = table, .arena = &arena, .out = out};

	al_latex_grid_init(&grid, &arena, style, table);
	al_latex_lay_out(&p.layout, &arena, style->profile, table, &grid);
	if (p.layout.is_split)
		write_split(&p);
	else
		write_whole(&p);
}

const struct al_writer al_writer_latex = {
	.name = "latex",
	.extension = "tex",
	.is_for_people = true,
	.write_table = write_table,
};
