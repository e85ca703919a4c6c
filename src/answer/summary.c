/* What sentences are put together from. */
#include "answer/summary.h"

#include "report/report.h"

enum { MOST_IN_ORDER = 5 };

/* ---- numbers ---- */

static const struct al_style iec = {.units = AL_UNITS_IEC}, whole = {.units = AL_UNITS_DEFAULT};

const char *al_text_of_bytes(struct al_arena *arena, mpq_srcptr bytes)
{
	static const struct al_column column = {.unit = "B",
		.quantity = AL_QUANTITY_BYTES,
		.digits = AL_DIGITS_ALL};
	const struct al_cell cell = {.kind = AL_CELL_EXACT, .exact = bytes};

	return al_cell_display(arena, &iec, &column, &cell);
}

const char *al_text_of_count(struct al_arena *arena, int64_t count)
{
	return al_exact_grouped(arena, al_format(arena, "%lld", (long long)count));
}

mpq_srcptr al_cell_exact(const struct al_table *table, size_t row, const char *key)
{
	const int column = al_table_find_column(table, key);

	if (column < 0 || table->rows[row][column].kind != AL_CELL_EXACT)
		return NULL;
	return table->rows[row][column].exact;
}

const char *al_text_of_cell(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key)
{
	const int column = al_table_find_column(table, key);

	if (column < 0 || table->rows[row][column].kind == AL_CELL_MISSING)
		return "";
	const struct al_column *c = &table->columns[column];
	return al_cell_display(arena, c->quantity == AL_QUANTITY_COUNT ? &whole : &iec, c,
		&table->rows[row][column]);
}

size_t al_count_rows(const struct al_table *table, const char *key, const char *text)
{
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++)
		n += strcmp(al_table_text(table, row, key), text) == 0;
	return n;
}

/* Three digits: "34.0", "1.05", "64.5", "6,450". */
static const char *three_digits(struct al_arena *arena, double number)
{
	const double size = fabs(number);
	const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;

	if (size > 0 && size < 0.1)
		return al_format(arena, "%.2g", number);
	return al_exact_grouped(arena, al_format(arena, "%.*f", decimals, number));
}

const char *al_text_of_percent(struct al_arena *arena, double share)
{
	if (share > 0.9995 && share < 1)
		return "nearly 100 %";
	return al_format(arena, "%s %%",
		share == 1	     ? "100"
			: share == 0 ? "0"
				     : three_digits(arena, 100 * share));
}

/* What a number is of another's: "34.0 % of mha's", "64.5 times mha's". */
static const char *beside(struct al_arena *arena, double value, const struct al_said *base)
{
	const double ratio = value / base->value;

	if (!(base->value > 0))
		return "";
	if (ratio == 1)
		return al_format(arena, " (as %s)", base->name);
	if (fabs(ratio - 1) < 0.005)
		return al_format(arena, " (%s %s than %s)",
			al_text_of_percent(arena, fabs(ratio - 1)), ratio < 1 ? "less" : "more",
			base->name);
	if (ratio < 1)
		return al_format(arena, " (%s of %s's)", al_text_of_percent(arena, ratio),
			base->name);
	return al_format(arena, " (%s times %s's)", three_digits(arena, ratio), base->name);
}

/* ---- order ---- */

/* What is as large stays in its order. */
static int by_value(const void *a, const void *b)
{
	const struct al_said *x = *(const struct al_said *const *)a,
			     *y = *(const struct al_said *const *)b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x < y ? -1 : 1;
}

static const char *one(struct al_arena *arena, const struct al_said *item,
	const struct al_said *base)
{
	return al_format(arena, "%s %s%s", item->name, item->text,
		item == base ? "" : beside(arena, item->value, base));
}

const char *al_text_of_order(struct al_arena *arena, const struct al_said *items, size_t n,
	size_t base)
{
	const struct al_said **ordered = al_new_array(arena, const struct al_said *, n);
	const char *text = "";

	for (size_t i = 0; i < n; i++)
		ordered[i] = &items[i];
	qsort(ordered, n, sizeof(*ordered), by_value);
	if (n > MOST_IN_ORDER)
		return al_format(arena, "of %zu: least %s, most %s", n,
			one(arena, ordered[0], &items[base]),
			one(arena, ordered[n - 1], &items[base]));
	for (size_t i = 0; i < n; i++)
		text = al_format(arena, "%s%s%s", text,
			i ? ", " : "from least to most: ", one(arena, ordered[i], &items[base]));
	return text;
}

/* ---- rows ---- */

const char *al_text_of_capital(struct al_arena *arena, const char *text)
{
	static const char small[] = "abcdefghijklmnopqrstuvwxyz";
	char *copy = al_strdup(arena, text);

	if (strspn(text, small) > 0 && text[strspn(text, small)] == ' ')
		copy[0] = (char)(copy[0] - 'a' + 'A');
	return copy;
}

const char *al_text_of_row(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *except)
{
	const char *name = "";

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_column *column = &table->columns[i];
		if (!column->is_key || strcmp(column->key, except) == 0)
			continue;
		name = al_format(arena, "%s%s%s", name, *name ? " " : "",
			al_cell_display(arena, &whole, column, &table->rows[row][i]));
	}
	return name;
}

const char *al_text_of_compared(struct al_arena *arena, const struct al_table *table,
	const char *key, const char *text, const char *of)
{
	struct al_said *items = al_new_array(arena, struct al_said, table->n_rows + 1);
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++) {
		double value;
		if ((*key && strcmp(al_table_text(table, row, key), text) != 0)
			|| !al_table_number(table, row, of, &value))
			continue;
		items[n++] = (struct al_said){al_text_of_row(arena, table, row, key),
			al_text_of_cell(arena, table, row, of), value};
	}
	return n < 2 ? NULL : al_text_of_order(arena, items, n, 0);
}
