/* Claims: templates, and the values that are in them. */
#include "report/claim.h"

#include "report/writer.h"

enum { MOST_IN_ORDER = 5 };

/* ---- placeholders ----
 *
 * BEGIN, the fields with a BETWEEN after each but the last, END. */

enum { LEAD = 1, BEGIN, END, BETWEEN = 0x1F };

enum field {
	NAME,
	IS_NUMBER, /* "1", or "" for a name */
	VALUE,
	UNIT,
	TEXT,
	TABLE, /* "" where the value is no cell */
	ROW,
	KEY,
	N_FIELDS
};

/* A field unchanged, unless it contains a delimiter. */
static const char *field_text(struct al_arena *arena, const char *text)
{
	static const char ends[] = {LEAD, BEGIN, END, BETWEEN, '\0'};

	return !text ? "" : strpbrk(text, ends) ? al_printable(arena, text) : text;
}

static const char *placeholder(struct al_arena *arena, const char *const fields[N_FIELDS])
{
	AL_TEXT(out);
	if (!*fields[TEXT])
		return "";
	for (int i = 0; i < N_FIELDS; i++)
		al_text_addf(&out, "%c%s", i ? BETWEEN : BEGIN, field_text(arena, fields[i]));
	al_text_addf(&out, "%c", END);
	return al_strdup(arena, out.data);
}

static const struct al_style iec = {.units = AL_UNITS_IEC}, whole = {.units = AL_UNITS_DEFAULT};

static const char *number(struct al_arena *arena, const char *name, const char *value,
	const char *unit, const char *text)
{
	return placeholder(arena,
		(const char *[N_FIELDS]){[NAME] = name,
			[IS_NUMBER] = "1",
			[VALUE] = value,
			[UNIT] = unit,
			[TEXT] = text});
}

const char *al_claim_cell_as(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key, const char *text)
{
	const int column = al_table_find_column(table, key);

	if (column < 0 || table->rows[row][column].kind == AL_CELL_MISSING)
		return "";
	const struct al_column *c = &table->columns[column];
	const struct al_cell *cell = &table->rows[row][column];
	const char *value = al_cell_number_text(arena, cell);
	double real;
	const bool is_number = al_cell_number(cell, &real) && isfinite(real);

	return placeholder(arena,
		(const char *[N_FIELDS]){[NAME] = c->key,
			[IS_NUMBER] = is_number ? "1" : "",
			[VALUE] = value ? value : cell->text,
			[UNIT] = c->unit,
			[TEXT] = text,
			[TABLE] = table->id,
			[ROW] = al_format(arena, "%zu", row),
			[KEY] = c->key});
}

const char *al_claim_cell(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key)
{
	const int column = al_table_find_column(table, key);

	if (column < 0 || table->rows[row][column].kind == AL_CELL_MISSING)
		return "";
	const struct al_column *c = &table->columns[column];
	return al_claim_cell_as(arena, table, row, key,
		al_cell_display(arena, c->quantity == AL_QUANTITY_COUNT ? &whole : &iec, c,
			&table->rows[row][column]));
}

const char *al_text_of_bytes(struct al_arena *arena, mpq_srcptr bytes)
{
	static const struct al_column column = {.unit = "B",
		.quantity = AL_QUANTITY_BYTES,
		.digits = AL_DIGITS_ALL};
	const struct al_cell cell = {.kind = AL_CELL_EXACT, .exact = bytes};

	return al_cell_display(arena, &iec, &column, &cell);
}

const char *al_claim_bytes(struct al_arena *arena, const char *name, mpq_srcptr bytes)
{
	return number(arena, name, al_exact_text(arena, bytes), "B",
		al_text_of_bytes(arena, bytes));
}

const char *al_claim_exact(struct al_arena *arena, const char *name, mpq_srcptr value)
{
	const char *text = al_exact_text(arena, value);

	return number(arena, name, text, "", al_exact_grouped(arena, text));
}

const char *al_claim_count(struct al_arena *arena, const char *name, int64_t count)
{
	return al_claim_exact(arena, name, al_exact_from_int(arena, count));
}

const char *al_claim_counted(struct al_arena *arena, uint64_t count, const char *noun)
{
	return al_format(arena, "%s %s%s", al_claim_count(arena, noun, (int64_t)count), noun,
		count == 1 ? "" : "s");
}

const char *al_claim_real(struct al_arena *arena, const char *name, const char *unit, double value,
	const char *text)
{
	const struct al_cell cell = {.kind = AL_CELL_REAL, .real = value};

	return number(arena, name, al_cell_number_text(arena, &cell), unit, text);
}

const char *al_claim_name(struct al_arena *arena, const char *name, const char *text)
{
	return placeholder(arena,
		(const char *[N_FIELDS]){[NAME] = name, [VALUE] = text, [TEXT] = text});
}

/* ---- percentages ---- */

/* Three digits: "34.0", "1.05", "64.5", "6,450". */
static const char *three_digits(struct al_arena *arena, double number)
{
	const double size = fabs(number);
	const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;

	if (size < 0.1)
		return al_format(arena, "%.2g", number);
	return al_exact_grouped(arena, al_format(arena, "%.*f", decimals, number));
}

static const char *percent_text(struct al_arena *arena, double share)
{
	if (share >= 0.9995 && share < 1)
		return "nearly 100 %";
	return al_format(arena, "%s %%",
		share == 1	     ? "100"
			: share == 0 ? "0"
				     : three_digits(arena, 100 * share));
}

const char *al_claim_percent(struct al_arena *arena, const char *name, double share)
{
	return al_claim_real(arena, name, "%", 100 * share, percent_text(arena, share));
}

const char *al_claim_share(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key)
{
	double share;

	if (!al_table_number(table, row, key, &share))
		return "";
	const size_t column = (size_t)al_table_find_column(table, key);
	if (strcmp(table->columns[column].unit, "%") == 0)
		share /= 100;
	return al_claim_cell_as(arena, table, row, key, percent_text(arena, share));
}

static const char *nats_text(struct al_arena *arena, const char *name, double nats)
{
	return al_claim_real(arena, name, "nats per token", nats,
		nats == 0		 ? "0"
			: nats < 0.00005 ? "less than 0.0001"
					 : al_format(arena, "%.4f", nats));
}

const char *al_claim_with_error(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key, const char *error_key)
{
	const char *error = al_claim_cell(arena, table, row, error_key);

	return al_format(arena, "%s%s%s", al_claim_cell(arena, table, row, key),
		*error ? " +- " : "", error);
}

const char *al_claim_loss(struct al_arena *arena, double before, double after, double error)
{
	const double change = after - before;
	const char *spread = isnan(error) || error == 0
		? ""
		: al_format(arena, " +- %s", nats_text(arena, "error", error));

	if (change == 0)
		return al_format(arena, "changes by " AL_CLAIM_LEAD "%s%s nats per token (%s)",
			nats_text(arena, "change", 0), spread, nats_text(arena, "before", before));
	return al_format(arena, "%s by " AL_CLAIM_LEAD "%s%s nats per token (%s), %s to %s",
		change > 0 ? "rises" : "falls", nats_text(arena, "change", fabs(change)), spread,
		al_claim_percent(arena, "share", fabs(change) / before),
		nats_text(arena, "before", before), nats_text(arena, "after", after));
}

/* One number relative to another: "34.0 % of mha's", "64.5 times mha's". */
static const char *compared_with(struct al_arena *arena, double value,
	const struct al_compared *base)
{
	const double ratio = value / base->value;

	if (!(base->value > 0))
		return "";
	if (ratio == 1)
		return al_format(arena, " (as %s)", base->name);
	if (fabs(ratio - 1) < 0.005)
		return al_format(arena, " (%s %s than %s)",
			al_claim_percent(arena, "difference", fabs(ratio - 1)),
			ratio < 1 ? "less" : "more", base->name);
	if (ratio < 1)
		return al_format(arena, " (%s of %s's)", al_claim_percent(arena, "ratio", ratio),
			base->name);
	return al_format(arena, " (%s times %s's)",
		al_claim_real(arena, "ratio", "", ratio, three_digits(arena, ratio)), base->name);
}

/* ---- order ---- */

/* Equal ones stay in their order. */
static int by_value(const void *a, const void *b)
{
	const struct al_compared *x = *(const struct al_compared *const *)a,
				 *y = *(const struct al_compared *const *)b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x < y ? -1 : 1;
}

static const char *one(struct al_arena *arena, const struct al_compared *item,
	const struct al_compared *base)
{
	return al_format(arena, "%s %s%s", item->name, item->text,
		item == base ? "" : compared_with(arena, item->value, base));
}

const char *al_claim_order(struct al_arena *arena, const struct al_compared *items, size_t n,
	size_t base)
{
	const struct al_compared **ordered = al_new_array(arena, const struct al_compared *, n);
	const char *text = "";

	for (size_t i = 0; i < n; i++)
		ordered[i] = &items[i];
	qsort(ordered, n, sizeof(*ordered), by_value);
	if (n > MOST_IN_ORDER)
		return al_format(arena, "%s compared: smallest %s, largest %s",
			al_claim_count(arena, "compared", (int64_t)n),
			one(arena, ordered[0], &items[base]),
			one(arena, ordered[n - 1], &items[base]));
	for (size_t i = 0; i < n; i++)
		text = al_format(arena, "%s%s%s", text,
			i ? ", " : "smallest first: ", one(arena, ordered[i], &items[base]));
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

const char *al_claim_row(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *except)
{
	const char *name = "";

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_column *column = &table->columns[i];
		if (!column->is_key || strcmp(column->key, except) == 0)
			continue;
		name = al_format(arena, "%s%s%s", name, *name ? " " : "",
			al_claim_cell(arena, table, row, column->key));
	}
	return name;
}

const char *al_claim_compared(struct al_arena *arena, const struct al_table *table, const char *key,
	const char *text, const char *of)
{
	struct al_compared *items = al_new_array(arena, struct al_compared, table->n_rows + 1);
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++) {
		double value;
		if ((*key && strcmp(al_table_text(table, row, key), text) != 0)
			|| !al_table_number(table, row, of, &value))
			continue;
		items[n++] = (struct al_compared){al_claim_row(arena, table, row, key),
			al_claim_cell(arena, table, row, of), value};
	}
	return n < 2 ? NULL : al_claim_order(arena, items, n, 0);
}

/* ---- cells ---- */

mpq_srcptr al_cell_exact(const struct al_table *table, size_t row, const char *key)
{
	const int column = al_table_find_column(table, key);

	if (column < 0 || table->rows[row][column].kind != AL_CELL_EXACT)
		return NULL;
	return table->rows[row][column].exact;
}

size_t al_count_rows(const struct al_table *table, const char *key, const char *text)
{
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++)
		n += strcmp(al_table_text(table, row, key), text) == 0;
	return n;
}

/* ---- reading ---- */

/* Cuts the placeholder whose BEGIN is at `at` into fields, and returns what follows its END; NULL:
 * it isn't one, but a stranger's text with control characters. */
static char *cut_fields(char *at, char *fields[N_FIELDS])
{
	static const char ends[] = {BEGIN, BETWEEN, END, '\0'};
	char *cuts[N_FIELDS];

	for (int i = 0; i < N_FIELDS; i++) {
		fields[i] = i ? cuts[i - 1] + 1 : at + 1;
		cuts[i] = fields[i] + strcspn(fields[i], ends);
		if (*cuts[i] != (i < N_FIELDS - 1 ? BETWEEN : END))
			return NULL;
	}
	for (int i = 0; i < N_FIELDS; i++)
		*cuts[i] = '\0';
	return cuts[N_FIELDS - 1] + 1;
}

static const char *take_value(struct al_claim *claim, struct al_arena *arena,
	char *const fields[N_FIELDS])
{
	const bool is_number = *fields[IS_NUMBER], has_cell = *fields[TABLE];

	*AL_APPEND(arena, claim->values, claim->n_values,
		claim->values_room) = (struct al_answer_value){.name = fields[NAME],
		.unit = fields[UNIT],
		.value = fields[VALUE],
		.text = fields[TEXT],
		.is_number = is_number,
		.table = has_cell ? fields[TABLE] : NULL,
		.key = has_cell ? fields[KEY] : NULL,
		.row = has_cell ? strtoul(fields[ROW], NULL, 10) : 0};
	return fields[TEXT];
}

void al_claim_read(struct al_claim *claim, struct al_arena *arena, const char *pattern)
{
	size_t lead = SIZE_MAX, n_leads = 0, n_starts = 0;

	claim->text = NULL;
	claim->pattern = pattern;
	claim->n_values = 0;
	claim->lead = NULL;
	if (!pattern)
		return;
	AL_TEXT(text);
	for (char *at = al_strdup(arena, pattern), *after; *at; at = after) {
		char *fields[N_FIELDS];
		after = *at == BEGIN ? cut_fields(at, fields) : NULL;
		if (after) {
			*AL_APPEND(arena, claim->starts, n_starts,
				claim->starts_room) = text.length;
			al_text_add(&text, take_value(claim, arena, fields));
		} else if (*at == LEAD) {
			lead = claim->n_values;
			n_leads++;
		} else
			al_text_add_bytes(&text, at, 1);
		after = after ? after : at + 1;
	}
	claim->text = al_strdup(arena, text.data);
	if (n_leads == 1 && lead < claim->n_values)
		claim->lead = &claim->values[lead];
}
