/* Plain text: aligned columns under their headings. A table wider than the page is folded into
 * parts that repeat the columns that name a row; a text that is too wide at the end of a row is
 * broken between its words, and a cell is never cut. */

#include "report/claim.h"
#include "report/writer.h"

static const char bold[] = "\033[1m", plain[] = "\033[0m";

enum { GAP = 2, LEAST_BROKEN = 20, INDENT_BELOW = 4 };

/* A table as texts, and how wide each column is on its own. */
struct sheet {
	const struct al_style *style;
	const struct al_table *table;
	const char **heads; /* [n_columns] */
	const char **groups; /* [n_columns], NULL where there is none */
	const char **cells; /* [n_rows][n_columns] */
	bool *is_number; /* [n_columns] */
	size_t *widths; /* [n_columns] */
};

/* Columns side by side. */
struct part {
	size_t *columns, *widths; /* [n] */
	size_t n;
	bool has_groups;
	bool has_last_below; /* the table's last column is under each row */
};

/* No line ends in spaces. */
static void end_line(struct al_text *out, const char *end)
{
	while (out->length > 0 && out->data[out->length - 1] == ' ')
		out->length--;
	al_text_add(out, end);
}

static void add_padded(struct al_text *out, const char *piece, size_t width, size_t before)
{
	al_text_add_repeated(out, ' ', before);
	al_text_add(out, piece);
	al_text_add_repeated(out, ' ', width - before - al_text_columns(piece));
}

static void read_column(struct sheet *sheet, struct al_arena *arena, size_t i)
{
	const struct al_table *table = sheet->table;
	const struct al_column *column = &table->columns[i];

	sheet->heads[i] = al_column_head(arena, sheet->style, column);
	sheet->groups[i] = column->group ? al_printable(arena, column->group) : NULL;
	sheet->is_number[i] = al_column_is_number(table, i);
	sheet->widths[i] = al_text_columns(sheet->heads[i]);
	for (size_t row = 0; row < table->n_rows; row++) {
		const struct al_cell *read = &table->rows[row][i];
		const char *cell = al_cell_display(arena, sheet->style, column, read);
		sheet->cells[row * table->n_columns + i] = cell;
		sheet->widths[i] = al_most(sheet->widths[i], al_text_columns(cell));
	}
}

static struct sheet read_table(struct al_arena *arena, const struct al_style *style,
	const struct al_table *table)
{
	struct sheet sheet = {
		.style = style,
		.table = table,
		.heads = al_new_array(arena, const char *, table->n_columns),
		.groups = al_new_array(arena, const char *, table->n_columns),
		.cells = al_new_array(arena, const char *, table->n_rows * table->n_columns),
		.is_number = al_new_array(arena, bool, table->n_columns),
		.widths = al_new_array(arena, size_t, table->n_columns),
	};

	for (size_t i = 0; i < table->n_columns; i++)
		read_column(&sheet, arena, i);
	return sheet;
}

/* The first place after those under the same heading as `place`. */
static size_t group_end(const struct sheet *sheet, const struct part *part, size_t place)
{
	const struct al_column *columns = sheet->table->columns;
	const struct al_column *first = &columns[part->columns[place]];
	size_t end = place + 1;

	while (end < part->n && al_column_same_group(first, &columns[part->columns[end]]))
		end++;
	return end;
}

static size_t span_width(const struct part *part, size_t from, size_t to)
{
	size_t width = GAP * (to - from - 1);

	for (size_t i = from; i < to; i++)
		width += part->widths[i];
	return width;
}

/* Sets the part's widths, headings over several columns included, and returns its whole width. */
static size_t lay_out(const struct sheet *sheet, struct part *part)
{
	part->has_groups = false;
	for (size_t i = 0; i < part->n; i++)
		part->widths[i] = sheet->widths[part->columns[i]];
	for (size_t from = 0, to; from < part->n; from = to) {
		const char *group = sheet->groups[part->columns[from]];
		to = group_end(sheet, part, from);
		if (!group)
			continue;
		part->has_groups = true;
		for (size_t i = from; span_width(part, from, to) < al_text_columns(group);)
			part->widths[i] += 1, i = i + 1 < to ? i + 1 : from;
	}
	return span_width(part, 0, part->n);
}

/* Adds a column; false, and it is left out, where it doesn't fit. */
static bool add_if_fits(const struct sheet *sheet, struct part *part, size_t column)
{
	part->columns[part->n++] = column;
	if (lay_out(sheet, part) <= sheet->style->width)
		return true;
	part->n--;
	return false;
}

/* All columns in their order: true where they fit, or nothing could be folded. */
static bool take_all(const struct sheet *sheet, struct part *part)
{
	const struct al_table *table = sheet->table;
	size_t n_others = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		part->columns[i] = i;
		n_others += !table->columns[i].is_key;
	}
	part->n = table->n_columns;
	size_t width = lay_out(sheet, part);
	return sheet->style->width == 0 || width <= sheet->style->width || n_others < 2;
}

/* The columns that name a row, then as many from `next` on as fit, at least one. Returns the first
 * that waits for the next part. */
static size_t take_next(const struct sheet *sheet, struct part *part, size_t next)
{
	const struct al_column *columns = sheet->table->columns;
	bool is_first = true;

	part->n = 0;
	for (size_t i = 0; i < sheet->table->n_columns; i++)
		if (columns[i].is_key)
			part->columns[part->n++] = i;
	for (; next < sheet->table->n_columns; next++) {
		if (columns[next].is_key)
			continue;
		if (is_first)
			part->columns[part->n++] = next;
		else if (!add_if_fits(sheet, part, next))
			break;
		is_first = false;
	}
	lay_out(sheet, part);
	return next;
}

/* Makes the part as wide as the page, where its last column holds texts that can be broken. */
static void narrow(const struct sheet *sheet, struct part *part)
{
	size_t last = part->n - 1, width = span_width(part, 0, part->n);
	size_t before = width - part->widths[last], page = sheet->style->width;
	bool can = page > 0 && width > page && before + LEAST_BROKEN <= page
		&& !sheet->is_number[part->columns[last]] && !part->has_groups;

	if (can)
		part->widths[last] = al_most(page - before,
			al_text_columns(sheet->heads[part->columns[last]]));
}

/* All columns but the last, whose long texts go under each row: true where the others fit. */
static bool take_all_but_last(const struct sheet *sheet, struct part *part)
{
	const size_t last = sheet->table->n_columns - 1, page = sheet->style->width;

	part->n = last;
	if (last < 2 || sheet->is_number[last] || sheet->table->columns[last].is_key
		|| sheet->groups[last] || sheet->widths[last] + INDENT_BELOW <= page / 2)
		return false;
	lay_out(sheet, part);
	narrow(sheet, part);
	part->has_last_below = span_width(part, 0, part->n) <= page;
	return part->has_last_below;
}

static void write_cells(const struct sheet *sheet, const struct part *part, const char **cells,
	struct al_text *out)
{
	for (size_t i = 0; i < part->n; i++) {
		const char *cell = cells[part->columns[i]];
		const size_t width = al_text_columns(cell),
			     at = i ? span_width(part, 0, i) + GAP : 0;
		const bool is_right = sheet->is_number[part->columns[i]];
		al_text_add_repeated(out, ' ', i ? GAP : 0);
		if (width > part->widths[i])
			al_text_add_wrapped(out, cell, at, at, sheet->style->width);
		else
			add_padded(out, cell, part->widths[i],
				is_right ? part->widths[i] - width : 0);
	}
}

/* A rule under a column or several, or as much space. */
static void add_rule(struct al_text *out, size_t place, size_t width, bool is_drawn)
{
	al_text_add_repeated(out, ' ', place ? GAP : 0);
	al_text_add_repeated(out, is_drawn ? '-' : ' ', width);
}

/* Headings centered over their columns, and a rule under each. */
static void write_groups(const struct sheet *sheet, const struct part *part, struct al_text *out)
{
	for (size_t from = 0, to; from < part->n; from = to) {
		const char *group = sheet->groups[part->columns[from]];
		to = group_end(sheet, part, from);
		const size_t width = span_width(part, from, to);
		al_text_add_repeated(out, ' ', from ? GAP : 0);
		add_padded(out, group ? group : "", width,
			group ? (width - al_text_columns(group)) / 2 : 0);
	}
	end_line(out, "\n");
	for (size_t from = 0, to; from < part->n; from = to) {
		to = group_end(sheet, part, from);
		add_rule(out, from, span_width(part, from, to),
			sheet->groups[part->columns[from]] != NULL);
	}
	end_line(out, "\n");
}

/* The line over a sum, under the numbers. */
static void write_rule(const struct sheet *sheet, const struct part *part, struct al_text *out)
{
	for (size_t i = 0; i < part->n; i++)
		add_rule(out, i, part->widths[i], sheet->is_number[part->columns[i]]);
	end_line(out, "\n");
}

/* A text on a line of its own under a row: a source. */
static void write_below(const struct sheet *sheet, const char **cells, struct al_text *out)
{
	const char *cell = cells[sheet->table->n_columns - 1];

	al_text_add_repeated(out, ' ', INDENT_BELOW);
	al_text_add_wrapped(out, cell, INDENT_BELOW, INDENT_BELOW, sheet->style->width);
}

static void write_rows(const struct sheet *sheet, const struct part *part, struct al_text *out)
{
	const size_t n_columns = sheet->table->n_columns;

	for (size_t row = 0; row < sheet->table->n_rows; row++) {
		const struct al_cell *cells = sheet->table->rows[row];
		const bool is_bold = cells[0].is_total && sheet->style->color;
		if (al_table_has_rule(sheet->table, row))
			write_rule(sheet, part, out);
		al_text_add(out, is_bold ? bold : "");
		write_cells(sheet, part, sheet->cells + row * n_columns, out);
		end_line(out, is_bold ? plain : "");
		al_text_add(out, "\n");
		if (part->has_last_below && cells[n_columns - 1].kind != AL_CELL_MISSING) {
			write_below(sheet, sheet->cells + row * n_columns, out);
			al_text_add(out, "\n");
		}
	}
}

static void write_part(const struct sheet *sheet, const struct part *part, struct al_text *out)
{
	al_text_add(out, sheet->style->color ? bold : "");
	if (part->has_groups)
		write_groups(sheet, part, out);
	write_cells(sheet, part, sheet->heads, out);
	if (part->has_last_below) {
		end_line(out, "\n");
		write_below(sheet, sheet->heads, out);
	}
	end_line(out, sheet->style->color ? plain : "");
	al_text_add(out, "\n");
	for (size_t i = 0; i < part->n; i++)
		add_rule(out, i, part->widths[i], true);
	al_text_add(out, "\n");
	write_rows(sheet, part, out);
}

static struct part new_part(struct al_arena *arena, const struct al_table *table)
{
	return (struct part){
		.columns = al_new_array(arena, size_t, table->n_columns),
		.widths = al_new_array(arena, size_t, table->n_columns),
	};
}

bool al_text_table_fits(const struct al_style *style, const struct al_table *table)
{
	AL_ARENA(arena);
	struct sheet sheet = read_table(&arena, style, table);
	struct part part = new_part(&arena, table);

	return take_all(&sheet, &part);
}

static void write_parts(const struct sheet *sheet, struct al_arena *arena, struct al_text *out)
{
	size_t n_columns = sheet->table->n_columns;
	struct part part = new_part(arena, sheet->table);

	if (take_all(sheet, &part)) {
		narrow(sheet, &part);
		write_part(sheet, &part, out);
		return;
	}
	if (take_all_but_last(sheet, &part)) {
		write_part(sheet, &part, out);
		return;
	}
	for (size_t next = 0; next < n_columns;) {
		al_text_add(out, next ? "\n" : "");
		next = take_next(sheet, &part, next);
		narrow(sheet, &part);
		write_part(sheet, &part, out);
	}
}

/* The bracket in which a text ends, "(Ainslie et al. 2023 ...)"; NULL: there is none. */
static const char *last_bracket(const char *text)
{
	size_t open = 0, at = strlen(text);

	if (at == 0 || text[at - 1] != ')')
		return NULL;
	while (at > 0) {
		open += text[--at] == ')';
		if (text[at] == '(' && --open == 0)
			return at > 1 && text[at - 1] == ' ' ? text + at : NULL;
	}
	return NULL;
}

/* A note, broken between words where it is wider than the page: a source in brackets at its end
 * gets a line of its own. */
static void write_note(const char *note, size_t page, struct al_arena *arena, struct al_text *out)
{
	const char *source = page > 0 && al_text_columns(note) > page ? last_bracket(note) : NULL;
	const size_t before = source ? (size_t)(source - note) - 1 : 0;

	if (source && al_text_columns(al_strndup(arena, note, before)) <= page) {
		al_text_add_bytes(out, note, before);
		al_text_add(out, "\n  ");
		al_text_add_wrapped(out, source, GAP, GAP, page);
	} else
		al_text_add_wrapped(out, note, 0, GAP, page);
	al_text_add(out, "\n");
}

void al_text_write_table(const struct al_style *style, const struct al_table *table,
	struct al_text *out)
{
	AL_ARENA(arena);
	if (*table->title)
		al_text_addf(out, "%s%s%s\n%s", style->color ? bold : "",
			al_printable(&arena, table->title), style->color ? plain : "",
			table->n_columns ? "\n" : "");
	if (table->n_columns > 0) {
		struct sheet sheet = read_table(&arena, style, table);
		if (table->n_rows > 0)
			write_parts(&sheet, &arena, out);
		else
			al_text_add(out, "None.\n");
	}
	for (size_t i = 0; i < table->n_notes; i++) {
		al_text_add(out, i ? "" : "\n");
		write_note(al_printable(&arena, table->notes[i]), style->width, &arena, out);
	}
}

void al_text_write_claim(const struct al_style *style, const char *claim, struct al_text *out)
{
	al_text_add_wrapped(out, claim, 0, 0, style->width);
}

/* "Assumed: batch size 1; weights in bf16.", then a command a line. */
void al_text_write_end(const struct al_style *style, const struct al_claim *claim,
	struct al_text *out)
{
	AL_TEXT(line);
	AL_ARENA(arena);
	for (size_t i = 0; i < claim->n_assumptions; i++)
		al_text_addf(&line, "%s%s",
			i ? "; " : "Assumed: ", al_printable(&arena, claim->assumptions[i]));
	if (line.length > 0) {
		al_text_add(&line, ".");
		al_text_add(out, "\n");
		al_text_add_wrapped(out, line.data, 0, 0, style->width);
		al_text_add(out, "\n");
	}
	for (size_t i = 0; i < claim->n_next; i++)
		al_text_addf(out, "%s%s\n",
			i ? "      " : "\nNext: ", al_printable(&arena, claim->next[i]));
}

const struct al_writer al_writer_text = {
	.name = "text",
	.extension = "txt",
	.is_for_people = true,
	.units = AL_UNITS_READABLE,
	.write_table = al_text_write_table,
	.write_claim = al_text_write_claim,
	.write_end = al_text_write_end,
	.write_short = al_text_write_short,
};
