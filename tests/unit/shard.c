/* Parts of an audit as files: every cell comes back as it was, and what is wrong is refused with
 * its place. */
#include "unit.h"

#include <float.h>
#include <math.h>

#include "base/number.h"
#include "audit/shard/shard.h"

static const double reals[] = {0, -0.0, 1, -3, .1, 1.0 / 3, DBL_MIN, DBL_TRUE_MIN, DBL_MAX,
	-DBL_MAX, 1e15, 123456789012345680.0, 2.5e-7, NAN, INFINITY, -INFINITY};
enum { N_REALS = sizeof(reals) / sizeof(*reals) };

static void fill(struct al_table *table)
{
	mpq_t q;

	al_table_init(table, "numbers", "");
	al_table_add_column(table, (struct al_column){.key = "real"});
	al_table_add_column(table, (struct al_column){.key = "other \"quoted\" é"});
	for (size_t i = 0; i < N_REALS; i++)
		al_cell_set_real(&al_table_add_row(table)[0], reals[i]);
	al_cell_set_text(table, &table->rows[0][1], "a \\ \"b\"\n\x01 é");
	al_cell_set_titled(table, &table->rows[1][1], "short", "what people read");
	al_cell_set_int(table, &table->rows[2][1], INT64_MIN);
	mpq_init(q);
	mpq_set_str(q, "-123456789012345678901234567890/7", 10);
	mpq_canonicalize(q);
	al_cell_set_exact(table, &table->rows[3][1], q);
	mpq_clear(q);
	al_cell_set_text(table, &table->rows[4][1], "");
	al_table_note(table, "a note with %d %%", 100);
}

static void assert_same_cell(const struct al_cell *a, const struct al_cell *b)
{
	assert_int_equal(a->kind, b->kind);
	if (a->kind == AL_CELL_TEXT) {
		assert_string_equal(a->text, b->text);
		assert_string_equal(a->title ? a->title : "none", b->title ? b->title : "none");
	} else if (a->kind == AL_CELL_EXACT) {
		assert_true(mpq_equal(a->exact, b->exact));
	} else if (a->kind == AL_CELL_REAL) {
		assert_memory_equal(&a->real, &b->real, sizeof(a->real));
	}
}

static void gives_every_cell_back(void **state)
{
	struct al_table table, empty;
	struct al_shard_file said, back;
	struct al_error err = {0};
	struct al_text text;

	(void)state;
	fill(&table);
	al_table_init(&empty, "empty", "");
	al_text_init(&text);
	al_shard_file_init(&said, "");
	al_shard_file_say(&said, "module", "layers.\"7\"");
	al_shard_file_say(&said, "config", NULL);
	al_shard_file_add(&said, &table);
	al_shard_file_add(&said, &empty);
	al_shard_file_write(&said, &text);
	if (!al_shard_file_parse(&back, "t", text.data, text.length, &err))
		fail_msg("%s", err.message);
	assert_string_equal(al_shard_file_fact(&back, "module"), "layers.\"7\"");
	assert_null(al_shard_file_fact(&back, "config"));
	assert_int_equal(back.n_tables, 2);
	const struct al_table *numbers = al_shard_file_table(&back, "numbers");
	assert_non_null(numbers);
	assert_null(al_shard_file_table(&back, "number"));
	assert_string_equal(numbers->columns[1].key, table.columns[1].key);
	assert_string_equal(numbers->notes[0], "a note with 100 %");
	assert_int_equal(numbers->n_rows, N_REALS);
	for (size_t row = 0; row < N_REALS; row++)
		for (size_t i = 0; i < 2; i++)
			assert_same_cell(&table.rows[row][i], &numbers->rows[row][i]);
	al_shard_file_finish(&back);
	al_shard_file_finish(&said);
	al_text_finish(&text);
	al_table_finish(&empty);
	al_table_finish(&table);
}

/* The text is the inside of a row, or all. */
static void check_refused(const char *text, const char *message)
{
	struct al_shard_file shard;
	struct al_error err = {0};
	char all[512];

	snprintf(all, sizeof(all),
		*text == '{' ? "%s"
			     : "{\"facts\": {}, \"tables\": [{\"id\": \"t\", \"columns\": [\"a\"], "
			       "\"notes\": [],\n\"rows\": [[%s]]}]}",
		text);
	assert_false(al_shard_file_parse(&shard, "t", all, strlen(all), &err));
	assert_string_equal(err.message, message);
}

static void refuses_rows(void **state)
{
	static const char nothing[] = "expected \"exact\", \"real\" (inf or -inf), or "
				      "\"text\" and \"title\"";
	static const char *const cases[] = {"{}", "{\"title\": \"a\"}", "{\"real\": \"1\"}"};
	char message[128];

	(void)state;
	check_refused("1, 2", "t:2:10: 2 cells, the table has 1 columns");
	check_refused("1], [", "t:2:15: 0 cells, the table has 1 columns");
	check_refused("1e999", "t:2:11: found 1e999, expected a finite number");
	check_refused("true", "t:2:11: found true or false, expected a string");
	check_refused("[]", "t:2:11: found an array, expected a string");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char cell[32];
		snprintf(cell, sizeof(cell), " %s", cases[i]);
		snprintf(message, sizeof(message), "t:2:12: %s", nothing);
		check_refused(cell, message);
	}
	check_refused(" {\"latex\": \"1\"}",
		"t:2:22: unknown key \"latex\" (known: text, title, exact, real)");
	check_refused(" {\"exact\": \"1/0\"}",
		"t:2:12: found \"1/0\", expected an exact number: 3 or 1/3");
	check_refused(" {\"exact\": \"0x3\"}",
		"t:2:12: found \"0x3\", expected an exact number: 3 or 1/3");
	check_refused(" {\"exact\": \"-\"}",
		"t:2:12: found \"-\", expected an exact number: 3 or 1/3");
	check_refused(" {\"exact\": \"1/\"}",
		"t:2:12: found \"1/\", expected an exact number: 3 or 1/3");
}

static void refuses_files(void **state)
{
	(void)state;
	check_refused("{}", "t:1:1: key \"facts\" is missing");
	check_refused("{\"rows\": []}", "t:1:10: unknown key \"rows\" (known: facts, tables)");
	check_refused("{\"facts\": {\"shard\": 7}, \"tables\": []}",
		"t:1:21: \"shard\" is a number, expected a string");
	check_refused("{\"facts\": {}, \"tables\": [{}]}", "t:1:26: key \"id\" is missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_every_cell_back),
		cmocka_unit_test(refuses_rows),
		cmocka_unit_test(refuses_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
