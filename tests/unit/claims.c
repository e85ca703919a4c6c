/* Claims: what numbers and comparisons read as at their limits, what is read back of a template;
 * and the short form of a text: which rows, columns, notes and tables it shows. */
#include "unit.h"

#include <math.h>

#include "base/number.h"
#include "report/claim.h"
#include "report/report.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* What a template reads as. */
static const char *read_text(struct al_arena *arena, const char *pattern)
{
	struct al_claim *claim = al_new(arena, struct al_claim);

	al_claim_read(claim, arena, pattern);
	return claim->text;
}

static void percentages_have_three_digits(void **state)
{
	static const struct {
		double share;
		const char *text;
	} shares[] = {
		{0, "0 %"},
		{1, "100 %"},
		{0.99951, "nearly 100 %"},
		{0.9995, "nearly 100 %"},
		{0.99949, "99.9 %"},
		{0.1, "10.0 %"},
		{0.09995, "10.0 %"},
		{0.09994, "9.99 %"},
		{0.015, "1.50 %"},
		{0.001, "0.10 %"},
		{0.00099, "0.099 %"},
		{0.0000123, "0.0012 %"},
		{1.5, "150 %"},
		{-0.9995, "-100 %"},
		{-0.34, "-34.0 %"},
		{64.5, "6,450 %"},
	};
	AL_ARENA(arena);

	(void)state;
	for (size_t i = 0; i < COUNT(shares); i++) {
		const char *text = al_claim_percent(&arena, "share", shares[i].share);
		assert_string_equal(read_text(&arena, text), shares[i].text);
	}
}

static void losses_rise_or_fall(void **state)
{
	static const struct {
		double before, after, error;
		const char *text;
	} losses[] = {
		{2, 2, NAN, "changes by 0 nats per token (2.0000)"},
		{2, 2, 0.5, "changes by 0 +- 0.5000 nats per token (2.0000)"},
		{2, 2.5, 0, "rises by 0.5000 nats per token (25.0 %), 2.0000 to 2.5000"},
		{2, 1.5, 0.25,
			"falls by 0.5000 +- 0.2500 nats per token (25.0 %), 2.0000 to 1.5000"},
		{1, 1.00004, 0.00005,
			"rises by less than 0.0001 +- 0.0001 nats per token (0.004 %), 1.0000 to "
			"1.0000"},
	};
	AL_ARENA(arena);

	(void)state;
	for (size_t i = 0; i < COUNT(losses); i++) {
		const char *text = al_claim_loss(&arena, losses[i].before, losses[i].after,
			losses[i].error);
		assert_string_equal(read_text(&arena, text), losses[i].text);
	}
}

/* Each is compared with the base; of more than five the ends alone are named. */
static void items_are_ordered(void **state)
{
	static const struct al_compared items[] = {
		{"b", "200", 200},
		{"a", "1", 1},
		{"near", "200.5", 200.5},
		{"below", "199.5", 199.5},
		{"double", "400", 400},
		{"last", "201.5", 201.5},
	};
	static const struct al_compared same[] = {{"x", "7", 7}, {"y", "7", 7}, {"z", "7", 7}};
	static const struct al_compared of_zero[] = {{"x", "0", 0}, {"y", "7", 7}, {"z", "0", 0}};
	AL_ARENA(arena);

	(void)state;
	assert_string_equal(read_text(&arena, al_claim_order(&arena, items, 5, 0)),
		"smallest first: a 1 (0.50 % of b's), below 199.5 (0.25 % less than b), b 200, "
		"near "
		"200.5 (0.25 % more than b), double 400 (2.00 times b's)");
	assert_string_equal(read_text(&arena, al_claim_order(&arena, items, 6, 5)),
		"6 compared: smallest a 1 (0.50 % of last's), largest double 400 (1.99 times "
		"last's)");
	assert_string_equal(read_text(&arena, al_claim_order(&arena, items + 4, 2, 0)),
		"smallest first: last 201.5 (50.4 % of double's), double 400");
	assert_string_equal(read_text(&arena, al_claim_order(&arena, same, 3, 1)),
		"smallest first: x 7 (as y), y 7, z 7 (as y)");
	assert_string_equal(read_text(&arena, al_claim_order(&arena, of_zero, 3, 0)),
		"smallest first: x 0, z 0, y 7");
}

/* Cells of each kind, of a table with two columns that name a row. */
static void build_cells(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "model", .is_key = true},
		{.key = "kind", .is_key = true},
		{.key = "bytes",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
		{.key = "n", .quantity = AL_QUANTITY_COUNT, .digits = AL_DIGITS_ALL},
		{.key = "share", .digits = 3},
		{.key = "saving", .unit = "%", .digits = 3},
	};
	static const char *const names[][2] = {{"gpt2", "mha"}, {"gpt2", "mqa"}, {"bert", "mha"}};

	al_table_init(table, "cells", "");
	al_table_add_columns(table, columns, COUNT(columns));
	for (int i = 0; i < 3; i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_text(table, &row[0], names[i][0]);
		al_cell_set_text(table, &row[1], names[i][1]);
		al_cell_set_int(table, &row[2], 1023 + i);
		if (i < 2)
			al_cell_set_int(table, &row[3], 1234567 * (2 - i));
		al_cell_set_real(&row[4], i ? 0.25 : NAN);
		al_cell_set_real(&row[5], 12.5 * i);
	}
}

static void cells_are_named(void **state)
{
	struct al_table table;
	AL_ARENA(arena);

	(void)state;
	build_cells(&table);
#define CELL(row, key) read_text(&arena, al_claim_cell(&arena, &table, row, key))
	assert_string_equal(CELL(0, "model"), "gpt2");
	assert_string_equal(CELL(0, "bytes"), "1,023 B");
	assert_string_equal(CELL(1, "bytes"), "1.00 KiB");
	assert_string_equal(CELL(0, "n"), "2,469,134");
	assert_string_equal(CELL(2, "n"), "");
	assert_string_equal(CELL(0, "share"), "");
	assert_string_equal(CELL(0, "none"), "");
	assert_string_equal(al_claim_cell_as(&arena, &table, 2, "n", "x"), "");
	assert_string_equal(al_claim_cell_as(&arena, &table, 2, "none", "x"), "");
#define SHARE(row, key) read_text(&arena, al_claim_share(&arena, &table, row, key))
	assert_string_equal(SHARE(1, "share"), "25.0 %");
	assert_string_equal(SHARE(1, "saving"), "12.5 %");
	assert_string_equal(SHARE(2, "n"), "");
#define ERROR(key, error) read_text(&arena, al_claim_with_error(&arena, &table, 2, key, error))
	assert_string_equal(ERROR("bytes", "share"), "1.00 KiB +- 0.250");
	assert_string_equal(ERROR("bytes", "n"), "1.00 KiB");
#define ROW(row, except) read_text(&arena, al_claim_row(&arena, &table, row, except))
	assert_string_equal(ROW(1, ""), "gpt2 mqa");
	assert_string_equal(ROW(1, "model"), "mqa");
	assert_string_equal(ROW(1, "kind"), "gpt2");
#define COMPARED(key, text, of) read_text(&arena, al_claim_compared(&arena, &table, key, text, of))
	assert_string_equal(COMPARED("kind", "mha", "bytes"),
		"smallest first: gpt2 1,023 B, bert 1.00 KiB (0.20 % more than gpt2)");
	assert_string_equal(COMPARED("", "", "n"),
		"smallest first: gpt2 mqa 1,234,567 (50.0 % of gpt2 mha's), gpt2 mha 2,469,134");
	assert_null(al_claim_compared(&arena, &table, "kind", "mqa", "bytes"));
	assert_null(al_claim_compared(&arena, &table, "kind", "mha", "n"));
	assert_int_equal(al_count_rows(&table, "kind", "mha"), 2);
	assert_int_equal(al_count_rows(&table, "kind", "mla"), 0);
	assert_null(al_cell_exact(&table, 2, "n"));
	assert_null(al_cell_exact(&table, 1, "share"));
	assert_null(al_cell_exact(&table, 1, "none"));
	assert_int_equal(mpq_cmp_ui(al_cell_exact(&table, 1, "bytes"), 1024, 1), 0);
	al_cell_set_int(&table, &table.rows[1][0], 7);
	assert_int_equal(mpq_cmp_ui(al_cell_exact(&table, 1, "model"), 7, 1), 0);
	al_table_finish(&table);
}

static void names_are_counted(void **state)
{
	AL_ARENA(arena);

	(void)state;
	assert_string_equal(read_text(&arena, al_claim_counted(&arena, 0, "head")), "0 heads");
	assert_string_equal(read_text(&arena, al_claim_counted(&arena, 1, "head")), "1 head");
	assert_string_equal(read_text(&arena, al_claim_counted(&arena, 2, "head")), "2 heads");
	assert_string_equal(read_text(&arena, al_claim_count(&arena, "n", 131072)), "131,072");
	assert_string_equal(al_text_of_capital(&arena, "context length"), "Context length");
	assert_string_equal(al_text_of_capital(&arena, "zebra b"), "Zebra b");
	assert_string_equal(al_text_of_capital(&arena, "config.json of it"), "config.json of it");
	assert_string_equal(al_text_of_capital(&arena, "word"), "word");
	assert_string_equal(al_text_of_capital(&arena, " x"), " x");
}

/* Values keep their cells; one lead before a value is the answer; control characters of a
 * stranger's text are no placeholder. */
static void templates_are_read(void **state)
{
	struct al_table table;
	struct al_claim claim = {.n_values = 7};
	AL_ARENA(arena);

	(void)state;
	build_cells(&table);
	const char *cell = al_claim_cell(&arena, &table, 1, "bytes");
	const char *name = al_claim_name(&arena, "model", "a\x1f\x02z");
	const char *real = al_claim_real(&arena, "ratio", "s", 0.1, "10 %");
	al_claim_read(&claim, &arena,
		al_format(&arena, "%s needs " AL_CLAIM_LEAD "%s, or %s", name, cell, real));
	assert_string_equal(claim.text, "a\\x1f\\x02z needs 1.00 KiB, or 10 %");
	assert_int_equal(claim.n_values, 3);
	assert_ptr_equal(claim.lead, &claim.values[1]);
	static const struct al_answer_value values[] = {
		{"model", "", "a\\x1f\\x02z", false, "a\\x1f\\x02z", NULL, NULL, 0},
		{"bytes", "B", "1024", true, "1.00 KiB", "cells", "bytes", 1},
		{"ratio", "s", "0.1", true, "10 %", NULL, NULL, 0},
	};
	static const size_t starts[] = {0, 17, 30};
	for (size_t i = 0; i < COUNT(values); i++) {
		const struct al_answer_value *value = &claim.values[i];
		assert_string_equal(value->name, values[i].name);
		assert_string_equal(value->unit, values[i].unit);
		assert_string_equal(value->value, values[i].value);
		assert_string_equal(value->text, values[i].text);
		assert_int_equal(value->is_number, values[i].is_number);
		assert_int_equal(value->row, values[i].row);
		assert_int_equal(claim.starts[i], starts[i]);
		assert_true(!value->table == !values[i].table && !value->key == !values[i].key);
	}
	assert_string_equal(claim.values[1].table, "cells");
	assert_string_equal(claim.values[1].key, "bytes");

	const char *two = al_format(&arena, AL_CLAIM_LEAD "%s" AL_CLAIM_LEAD "%s", cell, real);
	al_claim_read(&claim, &arena, two);
	assert_null(claim.lead);
	al_claim_read(&claim, &arena, al_format(&arena, "%s " AL_CLAIM_LEAD, cell));
	assert_int_equal(claim.n_values, 1);
	assert_null(claim.lead);
	al_claim_read(&claim, &arena, "a \x02z\x1f \x03.");
	assert_string_equal(claim.text, "a \x02z\x1f \x03.");
	assert_int_equal(claim.n_values, 0);
	al_claim_read(&claim, &arena, NULL);
	assert_null(claim.text);
	assert_null(claim.pattern);
	al_table_finish(&table);
}

/* ---- the short form ---- */

static void check_short(const struct al_table *const *tables, size_t n_tables, size_t n_lines,
	const struct al_claim *claim, size_t n_left_out, const char *expected)
{
	const struct al_style style = {.lines = n_lines, .claim = claim, .width = 40};
	const struct al_writer *writer;
	struct al_text out;

	al_text_init(&out);
	assert_true(al_writer_find("text", &writer, NULL));
	const size_t n = al_write(writer, &style, tables, n_tables, &out);
	assert_string_equal(out.data, expected);
	assert_int_equal(n, n_left_out);
	al_text_finish(&out);
}

/* Rows "a", "b", ... of 1, 2, ..., those in capital letters are sums; then more columns. */
static void build_rows(struct al_table *table, const char *id, const char *rows,
	const char *const *columns)
{
	al_table_init(table, id, "");
	al_table_add_column(table, (struct al_column){.key = "row", .is_key = true});
	al_table_add_column(table, (struct al_column){.key = "n"});
	for (size_t i = 0; columns && columns[i]; i++)
		al_table_add_column(table,
			(struct al_column){.key = columns[i], .digits = AL_DIGITS_ALL});
	for (const char *at = rows; *at; at++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_text(table, &row[0], (char[]){*at, '\0'});
		al_cell_set_int(table, &row[1], at - rows + 1);
		if (*at < 'a')
			al_table_mark_total(table);
	}
}

/* `n_lines` are those of the whole; the rows that end a cut table are its sums. */
static void rows_are_cut(void **state)
{
	static const struct {
		const char *rows;
		size_t n_lines, n_left_out;
		const char *shown;
	} cases[] = {
		/* two lines of heads, two blank ones, and one for what is left out */
		{"abcd", 9, 0, "a    1\nb    2\nc    3\nd    4\n\n"},
		{"abcd", 8, 2, "a    1\nb    2\n... 2 more rows\n\nMore: --details\n"},
		{"abcd", 7, 3, "a    1\n... 3 more rows\n\nMore: --details\n"},
		{"abcd", 1, 3, "a    1\n... 3 more rows\n\nMore: --details\n"},
		{"abT", 9, 0, "a    1\nb    2\n     -\nT    3\n\n"},
		{"abcT", 9, 2, "a    1\nT    4\n... 2 more rows\n\nMore: --details\n"},
		{"abcdeT", 10, 3,
			"a    1\nb    2\n     -\nT    6\n... 3 more rows\n\nMore: --details\n"},
		{"abcdeST", 9, 4, "a    1\nS    6\nT    7\n... 4 more rows\n\nMore: --details\n"},
		{"abcdeST", 8, 5, "S    6\nT    7\n... 5 more rows\n\nMore: --details\n"},
		{"STab", 7, 2, "S    1\nT    2\n... 2 more rows\n\nMore: --details\n"},
		{"abTcdS", 9, 4, "a    1\nT    3\n... 4 more rows\n\nMore: --details\n"},
		{"aTcdef", 9, 3, "a    1\nT    2\nc    3\n... 3 more rows\n\nMore: --details\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct al_table table;
		char expected[256];
		build_rows(&table, "t", cases[i].rows, NULL);
		const struct al_table *const tables[] = {&table};
		snprintf(expected, sizeof(expected), "row  n\n---  -\n%s", cases[i].shown);
		check_short(tables, 1, cases[i].n_lines, NULL, cases[i].n_left_out, expected);
		al_table_finish(&table);
	}
}

/* Columns without numbers, or of zeros alone, aren't shown, but for a single row's zeros; what is
 * too wide loses columns, those of the claim last. */
static void columns_are_left_out(void **state)
{
	static const char *const columns[] = {"missing", "zero", "a column of forty", "some",
		"sixteen letters!", NULL};
	static const char *const ten[] = {"0123456789012345678901234567", "claimed", "x", NULL};
	struct al_table table, one, wide;
	struct al_claim claim = {0};
	AL_ARENA(arena);

	(void)state;
	build_rows(&table, "t", "ab", columns);
	for (int i = 0; i < 2; i++) {
		al_cell_set_int(&table, &table.rows[i][3], 0);
		al_cell_set_real(&table.rows[i][5], 0.5 * i);
	}
	check_short((const struct al_table *const[]){&table}, 1, 20, NULL, 0,
		"row  n  some\n"
		"---  -  ----\n"
		"a    1     0\n"
		"b    2   0.5\n\n");
	build_rows(&one, "one", "a", columns);
	al_cell_set_int(&one, &one.rows[0][3], 0);
	check_short((const struct al_table *const[]){&one}, 1, 20, NULL, 0,
		"row  n  zero\n"
		"---  -  ----\n"
		"a    1     0\n\n");
	build_rows(&wide, "wide", "ab", ten);
	for (int i = 2; i < 5; i++)
		al_cell_set_int(&wide, &wide.rows[1][i], i);
	check_short((const struct al_table *const[]){&wide}, 1, 12, NULL, 0,
		"row  n  0123456789012345678901234567\n"
		"---  -  ----------------------------\n"
		"a    1                             -\n"
		"b    2                             2\n"
		"\n"
		"row  claimed  x\n"
		"---  -------  -\n"
		"a          -  -\n"
		"b          3  4\n\n");
	check_short((const struct al_table *const[]){&wide}, 1, 11, NULL, 0,
		"row  n  0123456789012345678901234567\n"
		"---  -  ----------------------------\n"
		"a    1                             -\n"
		"b    2                             2\n\n"
		"More: --details (2 columns)\n");
	al_claim_read(&claim, &arena, al_claim_cell(&arena, &wide, 1, "claimed"));
	check_short((const struct al_table *const[]){&wide}, 1, 11, &claim, 0,
		"3\n\n"
		"row  n  claimed\n"
		"---  -  -------\n"
		"a    1        -\n"
		"b    2        3\n\n"
		"More: --details (2 columns)\n");
	al_table_add_row(&one);
	al_table_finish(&table);
	al_table_finish(&one);
	al_table_finish(&wide);
}

/* Up to five warnings, each once, those of the table that is shown first, and its kept notes. */
static void warnings_are_shown(void **state)
{
	static const char *const counted[] = {"", "1 more warning\n", "2 more warnings\n"};

	(void)state;
	for (int n = 0; n < 4; n++) {
		struct al_table first, second;
		char expected[256];
		build_rows(&first, "first", "", NULL);
		build_rows(&second, "second", "a", NULL);
		al_table_warn(&first, "both");
		for (int i = 0; i < n + 2; i++)
			al_table_warn(&first, "w%d", i);
		al_table_warn(&second, "own");
		al_table_keep_note(&second, "kept");
		al_table_note(&second, "left out");
		if (n > 0)
			al_table_warn(&second, "both");
		snprintf(expected, sizeof(expected),
			"row  n\n---  -\na    1\n\nkept\n\nown\nboth\nw0\nw1\n%s%s\nMore: "
			"--details\n",
			n ? "w2\n" : "", n > 1 ? counted[n - 1] : "");
		check_short((const struct al_table *const[]){&first, &second}, 2, 30, NULL, 0,
			expected);
		al_table_finish(&first);
		al_table_finish(&second);
	}
}

/* Up to six other tables are named, but those without rows, and those that the claim tells. */
static void tables_are_named(void **state)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	static const char *const named[] = {"", " (table b)", " (tables b, c)", NULL, NULL,
		" (tables b, c, d, e, f)", " (tables b, c, d, e, f,\ng)",
		" (tables b, c, d, e, f, g\n...)"};
	struct al_table all[COUNT(ids)], none;
	const struct al_table *tables[COUNT(ids) + 1] = {&none};
	struct al_claim claim = {0};
	char expected[128];
	AL_ARENA(arena);

	(void)state;
	build_rows(&none, "none", "", NULL);
	for (size_t i = 0; i < COUNT(ids); i++) {
		build_rows(&all[i], ids[i], "a", NULL);
		tables[i + 1] = &all[i];
		if (!named[i])
			continue;
		snprintf(expected, sizeof(expected), "row  n\n---  -\na    1\n\n%s%s%s",
			i ? "More: --details" : "", named[i], i ? "\n" : "");
		check_short(tables, i + 2, 20, NULL, 0, expected);
	}
	const char *told = al_format(&arena, "%s%s", al_claim_cell(&arena, &all[1], 0, "row"),
		al_claim_cell(&arena, &all[1], 0, "n"));
	al_claim_read(&claim, &arena, told);
	check_short(tables, 4, 20, &claim, 0,
		"a1\n\nrow  n\n---  -\na    1\n\nMore: --details (table c)\n");
	check_short(tables + 2, 1, 20, &claim, 0, "a1\n\n");
	check_short(tables, 1, 20, &claim, 0, "a1\n\n");
	al_claim_read(&claim, &arena, al_claim_cell(&arena, &all[2], 0, "n"));
	check_short(tables, 5, 20, &claim, 0,
		"1\n\nrow  n\n---  -\na    1\n\nMore: --details (tables a, b, d)\n");
	for (size_t i = 0; i < COUNT(ids); i++)
		al_table_finish(&all[i]);
	al_table_finish(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentages_have_three_digits),
		cmocka_unit_test(losses_rise_or_fall),
		cmocka_unit_test(items_are_ordered),
		cmocka_unit_test(cells_are_named),
		cmocka_unit_test(names_are_counted),
		cmocka_unit_test(templates_are_read),
		cmocka_unit_test(rows_are_cut),
		cmocka_unit_test(columns_are_left_out),
		cmocka_unit_test(warnings_are_shown),
		cmocka_unit_test(tables_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
