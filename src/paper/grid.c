#include "paper/grid.h"

#include <ctype.h>
#include <strings.h>

#include "paper/words.h"
#include "scenario/printed.h"

/* Does a label begin with the word for a row that sums up others, or end with one? "DeltaNet"
 * doesn't. */
static bool is_summary(const struct al_paper_grid *g, const char *label)
{
	const struct al_paper_list *known =
		&g->sheet->subjects->vocabulary.words[AL_WORDS_SUMMARIES];
	const char *last = strrchr(label, ' ');

	for (size_t i = 0; i < known->n; i++) {
		const char *word = known->items[i];
		const size_t n = strlen(word);
		const bool is_letters = isalpha((unsigned char)word[n - 1]);
		if (*word == '/' ? last && strcasecmp(last + 1, word + 1) == 0
				 : strncasecmp(label, word, n) == 0
					&& !(is_letters && isalnum((unsigned char)label[n])))
			return true;
	}
	return false;
}

/* That of the lowest line of a head that has one. */
enum al_meaning al_paper_grid_relation(const struct al_paper_grid *g, const char *name,
	bool is_label)
{
	const struct al_paper_vocabulary *v = &g->sheet->subjects->vocabulary;
	enum al_meaning meaning = AL_MEANS_NOTHING;

	if (is_label && !is_summary(g, name))
		return AL_MEANS_NOTHING;
	for (const char *line = name; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *text = al_strndup(g->arena, line, strcspn(line, "\n"));
		const enum al_meaning found = al_paper_heads_find(v->relations, v->n_relations,
			al_paper_normal(g->arena, text))
						      ->meaning;
		meaning = found != AL_MEANS_NOTHING ? found : meaning;
	}
	return meaning;
}

/* The length of a sign in front of a number. */
static size_t sign_length(const char *text)
{
	static const char *const signs[] = {"+", "--", "-", "\u2212", "\u2013"};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (strncmp(text, signs[i], strlen(signs[i])) == 0)
			return strlen(signs[i]);
	return 0;
}

/* ---- cells ---- */

/* Behind "about". */
static const char *number_in(const char *text)
{
	static const char about[] = "\u2248";
	const char *p = strncmp(text, about, strlen(about)) == 0 ? text + strlen(about) : text;

	return p + strspn(p, "~ ");
}

/* The power of ten at a number's end, "3e-05", "2.1 x 10^-7"; where it ends. */
static const char *read_exponent(const char *text, long *exponent)
{
	static const char *const signs[] = {"e", "E", "x10^", "x 10^", "\u00d710^", "\u00d7 10^"};
	const char *p = text + (text[0] == ' ');
	char *end;

	*exponent = 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (strncmp(p, signs[i], strlen(signs[i])) != 0)
			continue;
		const char *digits = p + strlen(signs[i]);
		const size_t sign = sign_length(digits);
		const long value = strtol(digits + sign, &end, 10);
		if (!isdigit((unsigned char)digits[sign]) || isalpha((unsigned char)*end)
			|| value > 300)
			continue;
		*exponent = sign > 0 && *digits != '+' ? -value : value;
		return end;
	}
	return text;
}

static const char *unit_behind(const char *text)
{
	const char *number = number_in(text);
	long exponent;
	const char *p = read_exponent(number + al_number_length(number), &exponent);

	return p + strspn(p, " -*");
}

/* "54.9 GB/s", "64 KB", "9.8x": the number, and a unit without digits. */
static bool read_quantity(const char *text, struct al_paper_number *out)
{
	const char *unit = unit_behind(text), *number = number_in(text);
	long exponent;
	const double scale = (double)al_unit_factor(strcmp(unit, "KB") == 0 ? "kB"
			: strcmp(unit, "K") == 0			    ? "k"
									    : unit);

	if (al_number_read(number, &out->value, &out->digits) == 0
		|| (*unit && strchr("/^<>=:", *unit)) || strpbrk(unit, "0123456789^")
		|| !(out->value >= 0))
		return false;
	read_exponent(number + al_number_length(number), &exponent);
	out->value *= scale * pow(10, (double)exponent);
	out->half = 0.5 * pow(10, (double)exponent - out->digits) * scale;
	out->digits = (int)fmax(0, (double)(out->digits - exponent));
	return true;
}

/* "4.8 avg" in a row of sums is a number of another kind. */
static bool is_other_summary(const struct al_paper_grid *g, const char *text)
{
	const struct al_paper_list *words =
		&g->sheet->subjects->vocabulary.words[AL_WORDS_SUMMARIES];

	return al_find_name(unit_behind(text), (const char *const *)words->items, words->n) >= 0;
}

static void read_number(struct al_paper_grid *g, const char *text, struct al_paper_number *out)
{
	const size_t sign = sign_length(text);
	struct al_paper_cell cell;

	if (is_other_summary(g, text + sign))
		return;
	if (!read_quantity(text + sign, out)) {
		if (!al_paper_cell_number(g->arena, text + sign, &cell))
			return;
		const double scale = (double)al_unit_factor(cell.unit) * cell.scale;
		out->value = cell.value * scale;
		out->half = cell.half * scale;
		out->digits = cell.digits;
	}
	if (sign > 0 && *text != '+')
		out->value = -out->value;
}

struct al_paper_number al_paper_grid_base(struct al_paper_grid *g, const char *head)
{
	struct al_paper_number out = {0};

	for (const char *p = head; *p; p++) {
		const bool is_bracketed = p > head && p[-1] == '(';
		if (!isdigit((unsigned char)*p) || p == head || !strchr(" (", p[-1]))
			continue;
		struct al_paper_number number = {0};
		number.text = al_strndup(g->arena, p, strcspn(p, ")"));
		read_number(g, number.text, &number);
		if (number.half > 0 && (is_bracketed || number.digits > 1))
			out = number;
	}
	return out;
}

static const char *trimmed(struct al_arena *arena, const char *text, size_t n)
{
	while (n > 0 && text[n - 1] == ' ')
		n--;
	return al_strndup(arena, text, n);
}

/* Up to a spread or a note: "71.2 ± 0.3", "71.2 [70.8, 71.6]", "71.2_0.3", "17.5 ms^a". */
static void read_first(struct al_paper_grid *g, const char *text, size_t n,
	struct al_paper_number *out)
{
	static const char *const spreads[] = {"\u00b1", "[", "_"},
				 *const marks[] = {"*", "\u2020", "\u2021"};
	const char *end = text + n, *note = memchr(text, '^', n), *times = text;

	for (size_t i = 0; i < sizeof(spreads) / sizeof(*spreads); i++) {
		const char *spread = strstr(text, spreads[i]);
		end = spread > text && spread < end ? spread : end;
	}
	if (note > text && end > note && end - note <= 3 && !isdigit((unsigned char)note[1])
		&& note[1] != '-')
		end = note;
	times += *text == 'x' ? 1 : strncmp(text, "\u00d7", 2) == 0 ? 2 : 0;
	times += *times == ' ';
	const char *factor = times > text && times < end
		? trimmed(g->arena, times, (size_t)(end - times))
		: "";
	const size_t length = al_number_length(factor);
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		out->is_marked |= strstr(text, marks[i]) != NULL;
	out->text = length > 0 && !factor[length] /* "x2.1" */
		? al_format(g->arena, "%sx", factor)
		: trimmed(g->arena, text, (size_t)(end - text));
	read_number(g, out->text, out);
}

/* "71.2 (+1.3)" and "-3.1/-2.4" are two numbers, "71.2 (greedy)" is one. */
static void read_cell(struct al_paper_grid *g, const char *text, struct al_paper_number *out)
{
	const char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;
	const char *slash = strchr(text, '/');
	struct al_paper_number *inner = &out[g->n_columns];

	if (open == text && close && !close[1] && strpbrk(text, "+-%x")) { /* "(+1.3)" */
		read_first(g, text + 1, (size_t)(close - open - 1), out);
		return;
	}
	if (close && !close[1] && open > text && !strstr(open, "\u00b1")) {
		read_first(g, text, (size_t)(open - text), out);
		inner->text = al_strndup(g->arena, open + 1, (size_t)(close - open - 1));
		read_number(g, inner->text, inner);
		return;
	}
	if (slash > text) {
		const char *behind = slash + 1 + strspn(slash + 1, " ");
		read_first(g, behind, strlen(behind), inner);
		read_first(g, text, (size_t)(slash - text), out);
		if (inner->half > 0 && out->half > 0)
			return;
		*inner = (struct al_paper_number){.line = inner->line,
			.is_judged = inner->is_judged};
	}
	read_first(g, text, strlen(text), out);
}

static void read_numbers(struct al_paper_grid *g)
{
	const struct al_paper_table *t = g->sheet->table;

	for (size_t i = 0; i + g->sheet->n_heads < t->n_rows; i++)
		for (size_t k = 0; k < t->n_columns; k++) {
			const struct al_paper_row *row = &t->rows[g->sheet->n_heads + i];
			const size_t at = g->is_turned ? k : i, to = g->is_turned ? i : k;
			struct al_paper_number *out = &g->numbers[at * 2 * g->n_columns + to];
			out->line = out[g->n_columns].line = row->line;
			out->is_judged = al_paper_sheet_judged(g->sheet, g->sheet->n_heads + i, k);
			out[g->n_columns].is_judged = out->is_judged + 1;
			if (k > 0 && k < row->n_cells)
				read_cell(g, row->cells[k], out);
			else if (k == 0 && !g->is_turned) /* a label */
				read_first(g, row->cells[0], strlen(row->cells[0]), out);
		}
}

/* "1x", "3.1x": factors, below other numbers. */
static bool is_of_factors(const struct al_paper_grid *g, size_t row)
{
	size_t n = 0;

	for (size_t k = 1; row > 0 && k < g->n_columns; k++) {
		const struct al_paper_number *of = al_paper_grid_at(g, row, k);
		const struct al_paper_number *above = al_paper_grid_at(g, row - 1, k);
		if (of->half == 0)
			continue;
		const char *unit = unit_behind(of->text + sign_length(of->text));
		if ((strcmp(unit, "x") != 0 && strcmp(unit, "\u00d7") != 0) || above->half == 0)
			return false;
		n++;
	}
	return n > 1;
}

/* Where rows of factors alternate with rows of what they are of, they are as in brackets there. */
static void fold_factors(struct al_paper_grid *g)
{
	enum { LEAST = 3 };
	size_t n = 0;

	for (size_t i = 0; i < g->n_rows; i++)
		n += is_of_factors(g, i);
	for (size_t i = 0; n >= LEAST && i < g->n_rows; i++) {
		if (!is_of_factors(g, i))
			continue;
		struct al_paper_number *row = &g->numbers[i * 2 * g->n_columns];
		struct al_paper_number *above = row - g->n_columns; /* its brackets */
		for (size_t k = 1; k < g->n_columns; k++) {
			if (row[k].half > 0)
				above[k] = row[k];
			row[k] = (struct al_paper_number){.line = row[k].line,
				.is_judged = row[k].is_judged};
		}
	}
}

/* ---- columns ---- */

static const char *unit_of(const struct al_paper_grid *g, size_t column)
{
	for (size_t i = 0; i < g->n_rows; i++) {
		const char *text = al_paper_grid_at(g, i, column)->half > 0 && !g->is_summary[i]
			? al_paper_grid_at(g, i, column)->text
			: "";
		const char *unit = unit_behind(text + sign_length(text));
		const size_t n = strcspn(unit, " ");
		if (strncmp(unit, "\u00d7", 2) == 0)
			return "x";
		if (*text)
			return *unit == '%' ? "%"
				: *unit	    ? al_strndup(g->arena, unit, n)
				: column < g->n_columns && !g->is_turned
					&& g->sheet->heads[column].unit
				? g->sheet->heads[column].unit
				: "";
	}
	return "";
}

static void read_column(struct al_paper_grid *g, size_t k)
{
	struct al_paper_grid_column *column = &g->columns[k];

	column->is_whole = column->is_integral = column->has_signs = true;
	column->least = INFINITY;
	column->most = -INFINITY;
	for (size_t i = 0; i < g->n_rows; i++) {
		const struct al_paper_number *number = al_paper_grid_at(g, i, k);
		if (number->half == 0 || g->is_summary[i])
			continue;
		column->is_whole &= number->half == 0.5;
		column->is_integral &= number->digits == 0;
		column->has_signs &= sign_length(number->text) > 0 || number->value == 0;
		column->least = fmin(column->least, number->value);
		column->most = fmax(column->most, number->value);
	}
	column->span = column->most > column->least ? column->most - column->least : 0;
	column->unit = unit_of(g, k);
}

/* The first text of a row, or the first of those next to it that names a summary: "Mean". */
static const char *label_of(const struct al_paper_grid *g, const struct al_paper_row *row)
{
	for (size_t k = 1; k < row->n_cells && !al_number_length(row->cells[k]); k++)
		if (is_summary(g, row->cells[k]))
			return row->cells[k];
	return row->cells[0];
}

static void read_names(struct al_paper_grid *g)
{
	const struct al_paper_table *t = g->sheet->table;

	for (size_t i = 0; i + g->sheet->n_heads < t->n_rows; i++) {
		const struct al_paper_row *row = &t->rows[g->sheet->n_heads + i];
		const char *label = label_of(g, row);
		*(g->is_turned ? &g->columns[i].name : &g->labels[i]) = label;
	}
	for (size_t k = 0; k < t->n_columns; k++)
		*(g->is_turned ? &g->labels[k] : &g->columns[k].name) = g->sheet->heads[k].text;
	size_t n = 0;
	for (size_t i = 0; i < g->n_rows; i++) {
		g->is_summary[i] = g->is_turned
			? al_paper_grid_relation(g, g->labels[i], false) != AL_MEANS_NOTHING
			: is_summary(g, g->labels[i]);
		n += g->is_summary[i];
	}
	if (2 * n > g->n_rows) /* "Mean K MSE", "Mean KL": what is measured */
		memset(g->is_summary, 0, g->n_rows * sizeof(bool));
}

void al_paper_grid_init(struct al_paper_grid *g, const struct al_paper_sheet *sheet, bool is_turned,
	struct al_arena *arena, struct al_arena *scratch)
{
	const size_t n_rows = sheet->table->n_rows - sheet->n_heads,
		     n_columns = sheet->table->n_columns;

	*g = (struct al_paper_grid){.sheet = sheet,
		.arena = arena,
		.is_turned = is_turned,
		.n_rows = is_turned ? n_columns : n_rows,
		.n_columns = is_turned ? n_rows : n_columns};
	g->numbers = al_new_array(scratch, struct al_paper_number, g->n_rows * 2 * g->n_columns);
	g->columns = al_new_array(scratch, struct al_paper_grid_column, 2 * g->n_columns);
	g->labels = al_new_array(scratch, const char *, g->n_rows);
	g->is_summary = al_new_array(scratch, bool, g->n_rows);
	read_names(g);
	read_numbers(g);
	if (!g->is_turned)
		fold_factors(g);
	for (size_t k = 0; k < 2 * g->n_columns; k++)
		read_column(g, k);
}
