/* What writers share: what they print of a cell and of a column, as exact numbers or as people read
 * them, with scales, decimals, thousands commas, units; the list of writers. */
#include "report/writer.h"

#include "report/claim.h"

const char *al_printable(struct al_arena *arena, const char *text)
{
	const size_t length = strlen(text);

	if (al_text_is_plain(text, length)) /* nearly all of them */
		return al_strndup(arena, text, length);

	char *printable = al_arena_alloc(arena, 4 * length + 1, 1);
	char *end = printable;

	while (*text)
		end += al_escape_control(&text, end);
	return printable;
}

/* The shortest of 15 to 17 digits that reads back as the same number. */
static const char *real_text(struct al_arena *arena, double value)
{
	for (int digits = 15; digits < 17; digits++) {
		const char *text = al_format(arena, "%.*g", digits, value);
		if (!islessgreater(strtod(text, NULL), value))
			return text;
	}
	return al_format(arena, "%.17g", value);
}

const char *al_cell_number_text(struct al_arena *arena, const struct al_cell *cell)
{
	switch (cell->kind) {
	case AL_CELL_EXACT:
		return al_exact_text(arena, cell->exact);
	case AL_CELL_REAL:
		return real_text(arena, cell->real);
	case AL_CELL_MISSING:
	case AL_CELL_TEXT:
		break;
	}
	return NULL;
}

bool al_column_is_number(const struct al_table *table, size_t column)
{
	bool has_text = false;

	for (size_t row = 0; row < table->n_rows; row++) {
		enum al_cell_kind kind = table->rows[row][column].kind;
		if (kind == AL_CELL_EXACT || kind == AL_CELL_REAL)
			return true;
		has_text |= kind == AL_CELL_TEXT;
	}
	return !has_text && !table->columns[column].is_key;
}

bool al_column_has_spread(const struct al_table *table, size_t column)
{
	for (size_t row = 0; row < table->n_rows; row++)
		if (table->rows[row][column].spread)
			return true;
	return false;
}

bool al_column_same_group(const struct al_column *a, const struct al_column *b)
{
	return a->group && b->group && strcmp(a->group, b->group) == 0;
}

bool al_table_has_rule(const struct al_table *table, size_t row)
{
	return row > 1 && table->rows[row][0].is_total && !table->rows[row - 1][0].is_total
		&& !table->rows[row - 2][0].is_total;
}

/* ---- what people read ---- */

enum { MOST_STEPS = 8, SCALED_DIGITS = 2 };

/* A ladder of scales, each `step` times the one before. */
static const struct ladder {
	enum al_quantity quantity;
	enum al_units units; /* that choose it; AL_UNITS_DEFAULT: iec and si alike */
	int step;
	const char *gap; /* between a number and its scale */
	const char *names[MOST_STEPS];
} ladders[] = {
	{AL_QUANTITY_COUNT, AL_UNITS_DEFAULT, 1000, "", {"", "k", "M", "B", "T"}},
	{AL_QUANTITY_BYTES, AL_UNITS_SI, 1000, " ", {"B", "kB", "MB", "GB", "TB", "PB", "EB"}},
	{AL_QUANTITY_BYTES, AL_UNITS_IEC, 1024, " ",
		{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}},
	{AL_QUANTITY_FLOPS, AL_UNITS_DEFAULT, 1000, " ",
		{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP"}},
};

static const struct ladder *const count_ladder = &ladders[0];

enum { N_LADDERS = sizeof(ladders) / sizeof(*ladders) };

static bool has_fixed_scale(const struct al_column *column)
{
	return column->scale && *column->scale;
}

/* The ladder that scales each cell on its own, or NULL. */
static const struct ladder *chosen_ladder(const struct al_style *style,
	const struct al_column *column)
{
	const bool is_readable = style->units == AL_UNITS_READABLE;
	const enum al_units units = is_readable ? AL_UNITS_IEC : style->units;
	const bool scales = units == AL_UNITS_IEC || units == AL_UNITS_SI;

	if (!scales || has_fixed_scale(column)
		|| (is_readable && column->quantity == AL_QUANTITY_COUNT))
		return NULL;
	for (const struct ladder *l = ladders; l < ladders + N_LADDERS; l++)
		if (l->quantity == column->quantity
			&& (l->units == AL_UNITS_DEFAULT || l->units == units))
			return l;
	return NULL;
}

static bool has_step(const struct ladder *ladder, int step)
{
	return step < MOST_STEPS && ladder->names[step];
}

static int find_step(const struct ladder *ladder, const char *scale)
{
	for (int i = 0; has_step(ladder, i); i++)
		if (strcmp(ladder->names[i], scale) == 0)
			return i;
	return -1;
}

/* The place of a column's fixed scale: on a ladder of its own quantity, else among k, M, B, which
 * any quantity may use. NULL where the text is no scale. */
static const struct ladder *fixed_ladder(const struct al_column *column, int *step)
{
	if (!has_fixed_scale(column) || column->quantity == AL_QUANTITY_PLAIN)
		return NULL;
	for (const struct ladder *l = ladders; l < ladders + N_LADDERS; l++)
		if (l->quantity == column->quantity && (*step = find_step(l, column->scale)) >= 0)
			return l;
	*step = find_step(count_ladder, column->scale);
	return *step >= 0 ? count_ladder : NULL;
}

static mpq_srcptr scale_down(struct al_arena *arena, mpq_srcptr q, const struct ladder *ladder,
	int n_steps)
{
	for (; n_steps > 0; n_steps--)
		q = al_exact_scaled(arena, q, 1, ladder->step);
	return q;
}

/* Decimals that show four significant digits, and at least two decimals. */
static int decimals_that_tell(double size)
{
	int decimals = 2;

	for (double limit = 10; size < limit && decimals < 7; limit /= 10)
		decimals++;
	return decimals;
}

/* All digits of an integer; of anything else the significant ones. */
static const char *own_decimal(struct al_arena *arena, mpq_srcptr q)
{
	if (al_exact_is_integer(q))
		return al_exact_decimal(arena, q, 0);
	double size = fabs(mpq_get_d(q));
	if (size < 1e-4)
		return al_format(arena, "%.4g", mpq_get_d(q));
	mpq_ptr rounded = al_exact_new(arena);
	al_exact_round(rounded, q, decimals_that_tell(size));
	return al_exact_text(arena, rounded);
}

static const char *decimal(struct al_arena *arena, mpq_srcptr q, int digits)
{
	return digits == AL_DIGITS_ALL ? own_decimal(arena, q) : al_exact_decimal(arena, q, digits);
}

static const char *unscaled(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column, mpq_srcptr q)
{
	/* Decimals of a column of bytes are those of its KiB and MiB. */
	const bool is_whole = column->quantity == AL_QUANTITY_BYTES && al_exact_is_integer(q);

	if (style->units != AL_UNITS_RAW)
		return al_exact_grouped(arena, decimal(arena, q, is_whole ? 0 : column->digits));
	if (column->quantity == AL_QUANTITY_PLAIN)
		return decimal(arena, q, column->digits);
	return al_exact_text(arena, q);
}

/* The scale is in the column's head. */
static const char *fixed(struct al_arena *arena, const struct ladder *ladder, int step,
	const struct al_column *column, mpq_srcptr q)
{
	int digits = column->digits == AL_DIGITS_ALL && step > 0 ? SCALED_DIGITS : column->digits;

	return al_exact_grouped(arena, decimal(arena, scale_down(arena, q, ladder, step), digits));
}

/* Is |q|, rounded to `digits` decimals, below the ladder's next step? It is rounded near the step
 * alone. */
static bool fits_step(struct al_arena *arena, mpq_srcptr q, const struct ladder *ladder, int digits)
{
	const double size = fabs(mpq_get_d(q)), step = (double)ladder->step;

	if (size < step - 1 || size >= step)
		return size < step;
	mpq_ptr rounded = al_exact_new(arena);
	al_exact_round(rounded, q, digits);
	mpq_abs(rounded, rounded);
	return mpq_cmp_si(rounded, ladder->step, 1) < 0;
}

/* The scale is after the number: 999,999 is 1.00M, never 1000.00k. */
static const char *climbed(struct al_arena *arena, const struct ladder *ladder,
	const struct al_style *style, const struct al_column *column, mpq_srcptr q)
{
	/* A count's own decimals (none) don't apply to its millions. */
	int digits = column->digits > 0 ? column->digits : SCALED_DIGITS;
	int step = 0;
	mpq_srcptr scaled = q;

	for (; !fits_step(arena, scaled, ladder, digits) && has_step(ladder, step + 1); step++)
		scaled = scale_down(arena, scaled, ladder, 1);
	const char *number = step == 0 ? unscaled(arena, style, column, q)
				       : al_exact_grouped(arena, decimal(arena, scaled, digits));
	return al_format(arena, "%s%s%s", number, ladder->gap, ladder->names[step]);
}

static const char *display_number(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column, mpq_srcptr q)
{
	int step;
	const struct ladder *ladder = fixed_ladder(column, &step);

	if (ladder)
		return fixed(arena, ladder, step, column, q);
	ladder = chosen_ladder(style, column);
	if (ladder)
		return climbed(arena, ladder, style, column, q);
	return unscaled(arena, style, column, q);
}

/* The column for a number that was printed with so many decimals: 84.0 is not 84. */
static struct al_column with_digits(const struct al_column *column, int digits)
{
	struct al_column own = *column;

	if (own.digits == AL_DIGITS_ALL && digits > 0 && !has_fixed_scale(column))
		own.digits = digits;
	return own;
}

const char *al_number_display(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column, mpq_srcptr number, int digits)
{
	const struct al_column own = with_digits(column, digits);

	return display_number(arena, style, &own, number);
}

static const char *display_exact(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column, const struct al_cell *cell)
{
	const char *number = al_number_display(arena, style, column, cell->exact, cell->digits);

	if (cell->spread)
		number = al_format(arena, "%s (%s)", number,
			al_number_display(arena, style, column, cell->spread, cell->spread_digits));
	return cell->mark ? al_format(arena, "%s%s", number, cell->mark) : number;
}

static const char *display_real(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column, const struct al_cell *cell)
{
	mpq_ptr q = al_exact_new(arena);

	if (!isfinite(cell->real))
		return al_cell_number_text(arena, cell);
	if (fabs(cell->real) >= 1e15 && column->quantity == AL_QUANTITY_PLAIN)
		return al_format(arena, "%.4g", cell->real);
	mpq_set_d(q, cell->real);
	return display_number(arena, style, column, q);
}

const char *al_cell_display(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column, const struct al_cell *cell)
{
	switch (cell->kind) {
	case AL_CELL_TEXT:
		return al_printable(arena, cell->title ? cell->title : cell->text);
	case AL_CELL_EXACT:
		return display_exact(arena, style, column, cell);
	case AL_CELL_REAL:
		return display_real(arena, style, column, cell);
	case AL_CELL_MISSING:
		break;
	}
	return "-";
}

/* The head's text in brackets, or "". "B" is spelled out for bytes: over counts it is 10^9. */
static const char *head_unit(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column)
{
	int step;
	bool is_bytes = column->quantity == AL_QUANTITY_BYTES;
	const char *unit = is_bytes && strcmp(column->unit, "B") == 0 ? "bytes" : column->unit;

	if (is_bytes && has_fixed_scale(column) && strcmp(column->scale, "B") == 0)
		return "bytes";
	if (fixed_ladder(column, &step) == count_ladder && *unit)
		return al_format(arena, "%s %s", column->scale, unit);
	if (has_fixed_scale(column))
		return column->scale;

	const struct ladder *ladder = chosen_ladder(style, column);
	return ladder && *ladder->gap ? "" : unit;
}

/* Does the title name the unit already, as a word of its own? */
static bool mentions(const char *title, const char *unit)
{
	size_t length = strlen(unit);

	for (const char *p = title; (p = strstr(p, unit)); p++) {
		bool starts = !al_is_letter(unit[0]) || p == title || !al_is_letter(p[-1]);
		bool ends = !al_is_letter(unit[length - 1]) || !al_is_letter(p[length]);
		if (starts && ends)
			return true;
	}
	return false;
}

const char *al_column_head_unit(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column)
{
	const char *unit = al_printable(arena, head_unit(arena, style, column));

	return *unit && mentions(al_printable(arena, column->title), unit) ? "" : unit;
}

const char *al_column_head(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column)
{
	const char *title = al_printable(arena, column->title);
	const char *unit = al_column_head_unit(arena, style, column);

	return *unit ? al_format(arena, "%s (%s)", title, unit) : title;
}

/* ---- the writers ---- */

#define WRITER_POINTER(name) &al_writer_##name,

const struct al_writer *const al_writers[] = {AL_WRITERS(WRITER_POINTER) NULL};

enum { N_WRITERS = sizeof(al_writers) / sizeof(*al_writers) - 1 };

static const struct al_writer *find(const char *name)
{
	for (const struct al_writer *const *w = al_writers; *w; w++)
		if (strcmp(name, (*w)->name) == 0 || strcmp(name, (*w)->extension) == 0)
			return *w;
	return NULL;
}

static void write_claim(const struct al_writer *writer, const struct al_style *style,
	struct al_text *out)
{
	AL_ARENA(arena);
	writer->write_claim(style, al_printable(&arena, style->claim->text), out);
	al_text_add(out, "\n");
}

size_t al_write(const struct al_writer *writer, const struct al_style *asked,
	const struct al_table *const *tables, size_t n_tables, struct al_text *out)
{
	struct al_style style = *asked;
	const bool has_claim = style.claim && style.claim->text && writer->write_claim;

	if (style.units == AL_UNITS_DEFAULT)
		style.units = writer->units;
	if (style.lines && writer->write_short)
		return writer->write_short(&style, tables, n_tables, out);
	if (writer->write_all)
		writer->write_all(&style, tables, n_tables, out);
	if (has_claim)
		write_claim(writer, &style, out);
	for (size_t i = 0; i < n_tables && writer->write_table; i++) {
		al_text_add(out, i || has_claim ? "\n" : "");
		writer->write_table(&style, tables[i], out);
	}
	if (style.claim && writer->write_end)
		writer->write_end(&style, style.claim, out);
	return 0;
}

bool al_writer_find(const char *name, const struct al_writer **out, struct al_error *err)
{
	const char *names[N_WRITERS];

	*out = find(name);
	if (*out)
		return true;
	for (size_t i = 0; i < N_WRITERS; i++)
		names[i] = al_writers[i]->name;
	return al_fail_unknown(err, "format", name, names, N_WRITERS);
}

bool al_writer_for_file(const char *path, const struct al_writer **out, struct al_error *err)
{
	const char *extensions[N_WRITERS];
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	if (!dot)
		return al_fail(err, AL_EINPUT,
			"%s: unknown extension; use .txt, .json, .csv, .tex or .md", path);
	*out = find(dot + 1);
	if (*out)
		return true;
	for (size_t i = 0; i < N_WRITERS; i++)
		extensions[i] = al_writers[i]->extension;
	al_fail_unknown(err, "extension", dot + 1, extensions, N_WRITERS);
	return al_in(err, "%s", path);
}
