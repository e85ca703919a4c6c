/* Tables as grids of LaTeX. */
#include "report/latex_grid.h"

#include "base/embedded.h"

extern const struct al_embedded_list al_embedded_latex;

/* The line of latex-escapes.txt whose text `p` begins with; empty where there is none. A line is
 * the text, a space and what is written for it. */
static const char *find_escape(const char *p)
{
	const char *line = al_embedded_latex.files[0].text;

	while (*line && (*p != *line || strncmp(p, line, strcspn(line, " ")) != 0))
		line = strchr(line, '\n') + 1;
	return line;
}

/* What LaTeX reads otherwise than it looks. A bracket or a star after \\ would be its argument; the
 * symbols are those of the field for which pdflatex has no glyph outside mathematics. */
static const char *add_replaced(struct al_text *out, const char *p)
{
	const char *line = find_escape(p);
	const size_t n = strcspn(line, " ");

	if (!*line) {
		al_text_add_bytes(out, p, 1);
		return p + 1;
	}
	line += n + 1;
	al_text_add_bytes(out, line, strcspn(line, "\n"));
	return p + n;
}

/* A cell's text may be a name that somebody types: it stays as it is. */
static void add_plain(struct al_text *out, const char *text)
{
	while (*text)
		text = add_replaced(out, text);
}

void al_latex_add_escaped(struct al_text *out, const char *text)
{
	for (const char *p = text; *p;) {
		const char *end = al_latex_add_math(out, text, p);
		p = end > p ? end : add_replaced(out, p);
	}
}

static void add_cell(struct al_text *out, const struct al_style *style,
	const struct al_table *table, size_t column, const struct al_cell *cell)
{
	AL_ARENA(arena);
	if (cell->kind == AL_CELL_MISSING)
		al_text_add(out, al_latex_is_siunitx(table, column) ? "{--}" : "--");
	else if (cell->kind == AL_CELL_TEXT && cell->latex)
		al_text_add(out, cell->latex);
	else if (cell->kind == AL_CELL_TEXT)
		add_plain(out, al_cell_display(&arena, style, &table->columns[column], cell));
	else
		al_latex_add_number(out, style, table, column, cell);
}

static const char *escape(struct al_arena *arena, const char *text)
{
	AL_TEXT(out);
	al_latex_add_escaped(&out, text);
	return al_strdup(arena, out.data);
}

/* ---- heads ---- */

static size_t end_of_group(const struct al_table *table, size_t column)
{
	size_t end = column + 1;

	while (end < table->n_columns
		&& al_column_same_group(&table->columns[column], &table->columns[end]))
		end++;
	return end;
}

/* The unit that all columns of a group have: it is printed once, above them. "" where they
 * differ. */
static const char *unit_of_group(struct al_arena *arena, const struct al_style *style,
	const struct al_table *table, size_t from, size_t to)
{
	const char *unit = al_column_head_unit(arena, style, &table->columns[from]);

	for (size_t i = from + 1; i < to; i++)
		if (strcmp(unit, al_column_head_unit(arena, style, &table->columns[i])) != 0)
			return "";
	return to - from > 1 ? unit : "";
}

static void head_group(struct al_latex_grid *grid, struct al_arena *arena,
	const struct al_style *style, const struct al_table *table, size_t from, size_t to)
{
	const char *group = table->columns[from].group;
	const char *unit = group ? unit_of_group(arena, style, table, from, to) : "";

	if (group && *unit)
		group = al_format(arena, "%s (%s)", al_printable(arena, group), unit);
	else if (group)
		group = al_printable(arena, group);
	for (size_t i = from; i < to; i++) {
		const struct al_column *column = &table->columns[i];
		AL_TEXT(spec);
		al_latex_add_column(&spec, style, table, i);
		grid->columns[i] = (struct al_latex_column){
			.spec = al_strdup(arena, spec.data),
			.group = group ? escape(arena, group) : NULL,
			.head = escape(arena,
				*unit ? al_printable(arena, column->title)
				      : al_column_head(arena, style, column)),
			.is_key = column->is_key,
		};
	}
}

static const char **build_row(struct al_arena *arena, const struct al_style *style,
	const struct al_table *table, size_t row)
{
	const char **cells = al_new_array(arena, const char *, table->n_columns);

	for (size_t i = 0; i < table->n_columns; i++) {
		AL_TEXT(text);
		add_cell(&text, style, table, i, &table->rows[row][i]);
		cells[i] = al_strdup(arena, text.data);
	}
	return cells;
}

void al_latex_grid_init(struct al_latex_grid *grid, struct al_arena *arena,
	const struct al_style *style, const struct al_table *table)
{
	*grid = (struct al_latex_grid){
		.columns = al_new_array(arena, struct al_latex_column, table->n_columns),
		.n_columns = table->n_columns,
		.rows = al_new_array(arena, const char **, table->n_rows),
		.n_rows = table->n_rows,
	};
	for (size_t i = 0, end; i < table->n_columns; i = end) {
		end = end_of_group(table, i);
		head_group(grid, arena, style, table, i, end);
	}
	grid->has_rule = al_new_array(arena, bool, table->n_rows);
	for (size_t i = 0; i < table->n_rows; i++) {
		grid->rows[i] = build_row(arena, style, table, i);
		grid->has_rule[i] = al_table_has_rule(table, i);
	}
}

struct al_latex_part al_latex_all_columns(const struct al_latex_grid *grid, struct al_arena *arena)
{
	const struct al_latex_part all = {al_new_array(arena, size_t, grid->n_columns),
		grid->n_columns};

	for (size_t i = 0; i < all.n; i++)
		all.columns[i] = i;
	return all;
}

size_t al_latex_group_end(const struct al_latex_grid *grid, const struct al_latex_part *part,
	size_t place)
{
	const size_t *columns = part->columns;
	const char *group = grid->columns[columns[place]].group;
	size_t end = place + 1;

	while (group && end < part->n && columns[end] == columns[end - 1] + 1
		&& grid->columns[columns[end]].group
		&& strcmp(group, grid->columns[columns[end]].group) == 0)
		end++;
	return end;
}

bool al_latex_has_groups(const struct al_latex_grid *grid)
{
	for (size_t i = 0; i < grid->n_columns; i++)
		if (grid->columns[i].group)
			return true;
	return false;
}

bool al_latex_is_braced(const struct al_latex_column *column)
{
	return *column->spec == 'S';
}

/* ---- transposing ---- */

size_t al_latex_count_keys(const struct al_latex_grid *grid)
{
	size_t n = 0;

	while (n + 1 < grid->n_columns && grid->columns[n].is_key)
		n++;
	return n;
}

/* Its first columns name the rows, and no column is of one kind of number alone. */
bool al_latex_grid_can_transpose(const struct al_latex_grid *grid)
{
	const size_t n_keys = al_latex_count_keys(grid);

	if (n_keys == 0 || n_keys > 2 || grid->n_rows == 0)
		return false;
	for (size_t i = 0; i < grid->n_columns; i++)
		if (al_latex_is_braced(&grid->columns[i])
			|| (i >= n_keys && grid->columns[i].is_key))
			return false;
	return true;
}

void al_latex_grid_transpose(const struct al_latex_grid *grid, struct al_arena *arena,
	struct al_latex_grid *out)
{
	const size_t n_keys = al_latex_count_keys(grid);

	*out = (struct al_latex_grid){
		.columns = al_new_array(arena, struct al_latex_column, grid->n_rows + 1),
		.n_columns = grid->n_rows + 1,
		.rows = al_new_array(arena, const char **, grid->n_columns),
		.n_rows = grid->n_columns - n_keys,
	};
	out->columns[0] = (struct al_latex_column){.spec = "l", .head = "", .is_key = true};
	for (size_t i = 0; i < grid->n_rows; i++)
		out->columns[i + 1] = (struct al_latex_column){.spec = "r",
			.head = n_keys == 1
				? grid->rows[i][0]
				: al_format(arena, "%s %s", grid->rows[i][0], grid->rows[i][1])};
	for (size_t i = 0; i < out->n_rows; i++) {
		const size_t column = n_keys + i;
		const struct al_latex_column *c = &grid->columns[column];
		out->rows[i] = al_new_array(arena, const char *, out->n_columns);
		out->rows[i][0] = c->group ? al_format(arena, "%s, %s", c->group, c->head)
					   : c->head;
		for (size_t row = 0; row < grid->n_rows; row++)
			out->rows[i][row + 1] = grid->rows[row][column];
	}
}
