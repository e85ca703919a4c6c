/* Sorted and pivoted tables. */
#include "unit.h"
#include "written.h"

#include <math.h>

#include "scenario/build.h"

/* "a 1|b 2": the cells of all rows. */
static const char *cells_of(struct al_table *table)
{
	const char *text = "";

	for (size_t row = 0; row < table->n_rows; row++)
		for (size_t i = 0; i < table->n_columns; i++) {
			const struct al_cell *cell = &table->rows[row][i];
			double number;
			text = al_format(&table->arena, "%s%s", text, i ? " " : row ? "|" : "");
			if (al_cell_number(cell, &number))
				text = al_format(&table->arena, "%s%g", text, number);
			else
				text = al_format(&table->arena, "%s%s", text,
					cell->kind == AL_CELL_TEXT ? cell->text : "-");
		}
	return text;
}

/* "key group/title": what is over each column. */
static const char *heads_of(struct al_table *table)
{
	const char *text = "";

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_column *c = &table->columns[i];
		text = al_format(&table->arena, "%s%s%s%s%s/%s", text, i ? "|" : "", c->key,
			c->is_key ? " key " : " ", c->group ? c->group : "", c->title);
	}
	return text;
}

static void rows_are_sorted(void **state)
{
	static const struct {
		const char *rows, *by;
		bool descends;
		const char *sorted;
	} cases[] = {
		{"name x\na 2\nb -\nc 1.5\nd text\ne 2\nf -3", "x", false,
			"f -3|c 1.5|a 2|e 2|d text|b -"},
		{"name x\na 2\nb -\nc 1.5\nd text\ne 2\nf -3", "x", true,
			"d text|a 2|e 2|c 1.5|f -3|b -"},
		{"name x\na y\nb x\nc y\nd z", "x", false, "b x|a y|c y|d z"},
		{"name x\na -\nb -\nc 1", "x", true, "c 1|a -|b -"},
		{"name x:a x:b\na 2 1\nb 1 2", "x", false, "b 1 2|a 2 1"},
		{"name xy\na 2\nb 1", "x", false, "a 2|b 1"},
		/* rows of one model stay together */
		{"module module x\na p 2\na q 1\nb p 5\nb q 4\nb r 4\na s 0", "x", false,
			"a q 1|a p 2|b q 4|b r 4|b p 5|a s 0"},
		{"module module x\nb p 2\nb q 1\na p 5\na q 4", "module", false,
			"a p 5|a q 4|b p 2|b q 1"},
		{"module x\nb 2\nb 1\na 5", "x", false, "b 1|b 2|a 5"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct al_arrangement wanted = {.sort_by = cases[i].by,
			.sort_descends = cases[i].descends};
		struct al_table table;
		write_table(&table, "t", cases[i].rows);
		assert_true(al_table_arrange(&wanted, &table, NULL));
		assert_string_equal(cells_of(&table), cases[i].sorted);
		al_table_finish(&table);
	}
}

static void tables_are_pivoted(void **state)
{
	static const struct {
		const char *rows, *by, *key, *cells, *heads;
	} cases[] = {
		{"module variant x\na p 1\na q 2\nb q 4\nc p -", "variant", NULL,
			"a 1 2|b - 4|c - -", "module key /module|x:p x/p|x:q x/q"},
		{"module n x y\na 2 1 5\na 1.5 2 6\nb 2 4 7", "n", NULL, "a 1 5 2 6|b 4 7 - -",
			"module key /module|x:2 2/x|y:2 2/y|x:1.5 1.5/x|y:1.5 1.5/y"},
		{"module n x\na p 1\na q 2\nb p 1\nb q 4", "module", "x", "1 p p|2 q -|4 - q",
			"x key /x|n:a n/a|n:b n/b"},
		{"module n x\na p 1\nb p -\nc p -", "module", "n", "p 1 - -",
			"n key /n|x:a x/a|x:b x/b|x:c x/c"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *key = cases[i].key;
		const struct al_arrangement wanted = {.pivot_by = cases[i].by,
			.keys = &key,
			.n_keys = cases[i].key ? 1 : 0};
		struct al_table table;
		struct al_error err;
		write_table(&table, "t", cases[i].rows);
		if (!al_table_arrange(&wanted, &table, &err))
			fail_msg("%zu: %s", i, err.message);
		assert_string_equal(cells_of(&table), cases[i].cells);
		if (cases[i].heads)
			assert_string_equal(heads_of(&table), cases[i].heads);
		al_table_finish(&table);
	}
}

static void pivots_are_refused(void **state)
{
	static const struct {
		const char *rows, *by, *message;
	} cases[] = {
		{"module n x\na p 1\na p 2", "n",
			"table \"t\": two rows of \"p\" would share a cell of the pivoted table; "
			"add "
			"\"keys\" that distinguish them"},
		{"module n x\na p 1", "module",
			"table \"t\": nothing but \"module\" names the rows; add \"keys\""},
		{"module n x\na p 1", "none",
			"table \"t\": nothing but \"none\" names the rows; add \"keys\""},
	};
	struct al_table table;
	struct al_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct al_arrangement wanted = {.pivot_by = cases[i].by};
		write_table(&table, "t", cases[i].rows);
		assert_false(al_table_arrange(&wanted, &table, &err));
		assert_string_equal(err.message, cases[i].message);
		al_table_finish(&table);
	}
	/* 5,000 rows of one key; then one more */
	const struct al_arrangement wanted = {.pivot_by = "n"};
	write_table(&table, "t", "module n x");
	for (int i = 0; i < 5000; i++) {
		struct al_cell *row = al_table_add_row(&table);
		al_cell_set_text(&table, &row[0], "a");
		al_cell_set_int(&table, &row[1], i < 799 ? i : 0);
	}
	assert_false(al_table_arrange(&wanted, &table, &err));
	assert_non_null(strstr(err.message, "two rows of \"0\" would share"));
	al_cell_set_int(&table, &table.rows[4999][1], 799);
	assert_false(al_table_arrange(&wanted, &table, &err));
	assert_string_equal(err.message, "table \"t\": the pivoted table is too large");
	al_table_add_row(&table);
	assert_false(al_table_arrange(&wanted, &table, &err));
	assert_string_equal(err.message, "table \"t\": 5001 rows, expected at most 5000 to pivot");
	al_table_finish(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted),
		cmocka_unit_test(tables_are_pivoted),
		cmocka_unit_test(pivots_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
