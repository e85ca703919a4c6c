/* LaTeX: a table environment of booktabs rules that compiles as it is (\usepackage{booktabs}, and
 * {siunitx} where the table asks for its columns). */
#include <string.h>

#include "report/latex_number.h"

/* What LaTeX reads otherwise than it looks. A bracket or a star after \\ would be its argument;
 * the symbols below are those of the field for which pdflatex has no glyph outside mathematics. */
static const struct replacement {
	const char *text, *latex;
} replacements[] = {
	{"\\", "\\textbackslash{}"},
	{"&", "\\&"},
	{"%", "\\%"},
	{"$", "\\$"},
	{"#", "\\#"},
	{"_", "\\_"},
	{"{", "\\{"},
	{"}", "\\}"},
	{"~", "\\textasciitilde{}"},
	{"^", "\\textasciicircum{}"},
	{"<", "\\textless{}"},
	{">", "\\textgreater{}"},
	{"|", "\\textbar{}"},
	{"\"", "{\\char34}"},
	{"[", "{[}"},
	{"]", "{]}"},
	{"*", "{*}"},
	{"\u2212", "$-$"},
	{"\u2264", "$\\leq$"},
	{"\u2265", "$\\geq$"},
	{"\u2260", "$\\neq$"},
	{"\u2248", "$\\approx$"},
	{"\u223c", "$\\sim$"},
	{"\u226a", "$\\ll$"},
	{"\u226b", "$\\gg$"},
	{"\u2192", "$\\rightarrow$"},
	{"\u2190", "$\\leftarrow$"},
	{"\u21d2", "$\\Rightarrow$"},
	{"\u221a", "$\\surd$"},
	{"\u221e", "$\\infty$"},
	{"\u2208", "$\\in$"},
	{"\u2211", "$\\sum$"},
	{"\u220f", "$\\prod$"},
	{"\u2297", "$\\otimes$"},
	{"\u2299", "$\\odot$"},
	{"\u22c5", "$\\cdot$"},
	{"\u2032", "$'$"},
	{"\u00b5", "$\\mu$"},
	{"\u03b1", "$\\alpha$"},
	{"\u03b2", "$\\beta$"},
	{"\u03b3", "$\\gamma$"},
	{"\u03b4", "$\\delta$"},
	{"\u03b5", "$\\varepsilon$"},
	{"\u03b7", "$\\eta$"},
	{"\u03b8", "$\\theta$"},
	{"\u03ba", "$\\kappa$"},
	{"\u03bb", "$\\lambda$"},
	{"\u03bc", "$\\mu$"},
	{"\u03c0", "$\\pi$"},
	{"\u03c1", "$\\rho$"},
	{"\u03c3", "$\\sigma$"},
	{"\u03c4", "$\\tau$"},
	{"\u03c6", "$\\varphi$"},
	{"\u03c9", "$\\omega$"},
	{"\u0393", "$\\Gamma$"},
	{"\u0394", "$\\Delta$"},
	{"\u0398", "$\\Theta$"},
	{"\u039b", "$\\Lambda$"},
	{"\u03a3", "$\\Sigma$"},
	{"\u03a6", "$\\Phi$"},
	{"\u03a9", "$\\Omega$"},
};

static const struct replacement *replacement_at(const char *p)
{
	for (size_t i = 0; i < sizeof(replacements) / sizeof(*replacements); i++)
		if (strncmp(p, replacements[i].text, strlen(replacements[i].text)) == 0)
			return &replacements[i];
	return NULL;
}

static void add_escaped(struct al_text *out, const char *text)
{
	while (*text) {
		const struct replacement *r = replacement_at(text);
		if (r)
			al_text_add(out, r->latex);
		else
			al_text_add_bytes(out, text, 1);
		text += r ? strlen(r->text) : 1;
	}
}

static void add_cell(struct al_text *out, const struct al_style *style,
	const struct al_table *table, size_t column, const struct al_cell *cell)
{
	struct al_arena arena;

	al_arena_init(&arena);
	if (cell->kind == AL_CELL_MISSING)
		al_text_add(out, al_latex_is_siunitx(table, column) ? "{--}" : "--");
	else if (cell->kind == AL_CELL_TEXT && cell->latex)
		al_text_add(out, cell->latex);
	else if (cell->kind == AL_CELL_TEXT)
		add_escaped(out, al_cell_display(&arena, style, &table->columns[column], cell));
	else
		al_latex_add_number(out, style, table, column, cell);
	al_arena_finish(&arena);
}

/* The first column after those under the same heading as `column`. */
static size_t group_end(const struct al_table *table, size_t column)
{
	size_t end = column + 1;

	while (end < table->n_columns
		&& al_column_same_group(&table->columns[column], &table->columns[end]))
		end++;
	return end;
}

static void write_groups(const struct al_table *table, struct al_arena *arena, struct al_text *out)
{
	for (size_t i = 0; i < table->n_columns; i = group_end(table, i)) {
		al_text_add(out, i ? " & " : "");
		if (!table->columns[i].group)
			continue;
		al_text_addf(out, "\\multicolumn{%zu}{c}{", group_end(table, i) - i);
		add_escaped(out, al_printable(arena, table->columns[i].group));
		al_text_add(out, "}");
	}
	al_text_add(out, " \\\\\n");
	for (size_t i = 0; i < table->n_columns; i = group_end(table, i))
		if (table->columns[i].group)
			al_text_addf(out, "\\cmidrule(lr){%zu-%zu}", i + 1, group_end(table, i));
	al_text_add(out, "\n");
}

static void write_heads(const struct al_style *style, const struct al_table *table,
	struct al_arena *arena, struct al_text *out)
{
	al_text_add(out, "\\toprule\n");
	if (al_table_has_groups(table))
		write_groups(table, arena, out);
	for (size_t i = 0; i < table->n_columns; i++) {
		al_text_add(out, i ? " & " : "");
		al_text_add(out, al_latex_is_siunitx(table, i) ? "{" : "");
		add_escaped(out, al_column_head(arena, style, &table->columns[i]));
		al_text_add(out, al_latex_is_siunitx(table, i) ? "}" : "");
	}
	al_text_add(out, " \\\\\n\\midrule\n");
}

static void write_tabular(const struct al_style *style, const struct al_table *table,
	struct al_arena *arena, struct al_text *out)
{
	al_text_add(out, "\\begin{tabular}{");
	for (size_t i = 0; i < table->n_columns; i++)
		al_latex_add_column(out, style, table, i);
	al_text_add(out, "}\n");
	write_heads(style, table, arena, out);
	for (size_t row = 0; row < table->n_rows; row++) {
		for (size_t i = 0; i < table->n_columns; i++) {
			al_text_add(out, i ? " & " : "");
			add_cell(out, style, table, i, &table->rows[row][i]);
		}
		al_text_add(out, " \\\\\n");
	}
	al_text_add(out, "\\bottomrule\n\\end{tabular}\n");
}

static void write_notes(const struct al_table *table, struct al_arena *arena, struct al_text *out)
{
	if (table->n_notes == 0)
		return;
	al_text_add(out, "\n\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize\n");
	for (size_t i = 0; i < table->n_notes; i++) {
		add_escaped(out, al_printable(arena, table->notes[i]));
		al_text_add(out, "\\par\n");
	}
	al_text_add(out, "\\end{minipage}\n");
}

/* A label takes no special characters. */
static void add_label(struct al_text *out, const char *id)
{
	al_text_add(out, "\\label{tab:");
	for (; *id; id++)
		al_text_add_bytes(out, strchr("\\{}%#&$~^_ ,", *id) ? "-" : id, 1);
	al_text_add(out, "}\n");
}

static void write_table(const struct al_style *style, const struct al_table *table,
	struct al_text *out)
{
	struct al_arena arena;

	al_arena_init(&arena);
	al_text_add(out, "\\begin{table}\n\\centering\n");
	if (*table->title) {
		al_text_add(out, "\\caption{");
		add_escaped(out, al_printable(&arena, table->title));
		al_text_add(out, "}\n");
		add_label(out, table->id);
		al_text_add(out, "\\smallskip\n");
	}
	if (table->n_columns > 0)
		write_tabular(style, table, &arena, out);
	write_notes(table, &arena, out);
	al_text_add(out, "\\end{table}\n");
	al_arena_finish(&arena);
}

static void write_latex(const struct al_style *style, const struct al_table *const *tables,
	size_t n_tables, struct al_text *out)
{
	for (size_t i = 0; i < n_tables; i++) {
		al_text_add(out, i ? "\n" : "");
		write_table(style, tables[i], out);
	}
}

const struct al_writer al_writer_latex = {
	.name = "latex",
	.extension = "tex",
	.is_for_people = true,
	.write = write_latex,
};
