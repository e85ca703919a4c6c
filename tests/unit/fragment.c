/* Parts of an audit as files: every cell comes back as it was, and what is wrong is refused with
 * its place. */
#include "unit.h"

#include <float.h>
#include <math.h>

#include "base/number.h"
#include "fragment/manifest.h"
#include "fragment/rows.h"

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
		assert_true(isnan(a->real) ? isnan(b->real)
					   : memcmp(&a->real, &b->real, sizeof(a->real)) == 0);
	}
}

static void gives_every_cell_back(void **state)
{
	const struct al_fragment_matrix matrix = {"layers.7.qk.gram.npy", UINT64_MAX - 1};
	struct al_table table, empty;
	const struct al_table *tables[] = {&table, &empty};
	struct al_fragment_rows rows;
	struct al_error err = {0};
	struct al_text text;

	(void)state;
	fill(&table);
	al_table_init(&empty, "empty", "");
	al_text_init(&text);
	al_fragment_rows_write("layers.7", tables, 2, &matrix, 1, &text);
	if (!al_fragment_rows_parse(&rows, "t", text.data, text.length, &err))
		fail_msg("%s", err.message);
	assert_string_equal(rows.module, "layers.7");
	assert_int_equal(rows.n_tables, 2);
	const struct al_table *back = al_fragment_rows_find(&rows, "numbers");
	assert_non_null(back);
	assert_null(al_fragment_rows_find(&rows, "number"));
	assert_string_equal(back->columns[1].key, table.columns[1].key);
	assert_string_equal(back->notes[0], "a note with 100 %");
	assert_int_equal(back->n_rows, N_REALS);
	for (size_t row = 0; row < N_REALS; row++)
		for (size_t i = 0; i < 2; i++)
			assert_same_cell(&table.rows[row][i], &back->rows[row][i]);
	assert_string_equal(rows.matrices[0].name, matrix.name);
	assert_true(rows.matrices[0].fingerprint == matrix.fingerprint);
	al_fragment_rows_finish(&rows);
	al_text_finish(&text);
	al_table_finish(&empty);
	al_table_finish(&table);
}

/* The text is the inside of a row, or all. */
static void check_refused(const char *text, const char *message)
{
	struct al_fragment_rows rows;
	struct al_error err = {0};
	char all[512];

	snprintf(all, sizeof(all),
		*text == '{' ? "%s"
			     : "{\"module\": \"m\", \"tables\": [{\"id\": \"t\", \"columns\": "
			       "[\"a\"],\n\"rows\": [[%s]]}]}",
		text);
	assert_false(al_fragment_rows_parse(&rows, "t", all, strlen(all), &err));
	assert_string_equal(err.message, message);
}

static void refuses_rows(void **state)
{
	(void)state;
	check_refused("1, 2", "t:2:14: one cell more than the table's 1 columns");
	check_refused("1], [", "t:2:15: 0 cells, the table has 1 columns");
	check_refused("1e999", "t:2:11: found 1e999, expected a finite number");
	check_refused("true",
		"t:2:11: found a boolean, expected null, a text, a number or an object");
	check_refused("[]", "t:2:11: found an array, expected null, a text, a number or an object");
	check_refused(" {}", "t:2:12: a cell of nothing");
	check_refused(" {\"title\": \"a\"}", "t:2:22: a title without a text");
	check_refused(" {\"exact\": \"1/0\"}",
		"t:2:22: found \"1/0\", expected an exact number: 3 or 1/3");
	check_refused(" {\"exact\": \"0x3\"}",
		"t:2:22: found \"0x3\", expected an exact number: 3 or 1/3");
	check_refused(" {\"exact\": \"1/\"}",
		"t:2:22: found \"1/\", expected an exact number: 3 or 1/3");
	check_refused(" {\"real\": \"1\"}", "t:2:21: found \"1\", expected nan, inf or -inf");
	check_refused(" {\"latex\": \"1\"}", "t:2:22: unknown key \"latex\"");
}

static void refuses_files(void **state)
{
	(void)state;
	check_refused("{}", "t:1:1: no \"module\": these are no rows");
	check_refused("{\"rows\": []}", "t:1:10: unknown key \"rows\"");
	check_refused("{\"module\": 7}", "t:1:12: \"module\" is a number, expected a string");
	check_refused("{\"module\": \"m\", \"tables\": [{}]}", "t:1:28: a table without an \"id\"");
	check_refused("{\"module\": \"m\", \"tables\": [{\"rows\": [[]], \"columns\": [\"a\"]}]}",
		"t:1:55: columns after rows");
	check_refused("{\"module\": \"m\", \"matrices\": [{\"name\": \"a/b\"}]}",
		"t:1:39: found \"a/b\", expected the name of a file");
	check_refused("{\"module\": \"m\", \"matrices\": [{\"name\": \"..\"}]}",
		"t:1:39: found \"..\", expected the name of a file");
	check_refused("{\"module\": \"m\", \"matrices\": [{\"fingerprint\": \"fnv1a 7\"}]}",
		"t:1:46: found \"fnv1a 7\", expected a fingerprint");
	check_refused("{\"module\": \"m\", \"matrices\": [{}]}",
		"t:1:30: a matrix without a \"name\"");
}

static void knows_names_of_manifests(void **state)
{
	(void)state;
	assert_true(al_manifest_is_name("shard-1-of-2.json"));
	assert_true(al_manifest_is_name("shard-12-of-240.json"));
	assert_false(al_manifest_is_name("shard-1-of-2.0.json"));
	assert_false(al_manifest_is_name("shard-1-of-2.layers.0.qk.gram.npy"));
	assert_false(al_manifest_is_name("shard-1-of-2.json~"));
	assert_false(al_manifest_is_name(".shard-1-of-2.json"));
	assert_false(al_manifest_is_name("shard-1.json"));
}

static void refuses_manifests(void **state)
{
	static const char *const cases[][2] = {
		{"{\"format\": 2}", "t:1:12: format 2 of fragments, this program reads format 1"},
		{"{\"format\": 1}", "t:1:1: key \"attnledger\" is missing"},
		{"{\"format\": 1, \"atnledger\": \"1\"}",
			"t:1:28: unknown key \"atnledger\" (did you mean \"attnledger\"?)"},
		{"{\"format\": 1, \"attnledger\": \"1\", \"shard\": 0}",
			"t:1:43: found 0, expected 1 or more"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_manifest manifest;
		struct al_error err = {0};
		struct al_arena arena;
		al_arena_init(&arena);
		assert_false(al_manifest_parse(&manifest, &arena, "t", cases[i][0],
			strlen(cases[i][0]), &err));
		assert_string_equal(err.message, cases[i][1]);
		al_arena_finish(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_every_cell_back),
		cmocka_unit_test(refuses_rows),
		cmocka_unit_test(refuses_files),
		cmocka_unit_test(knows_names_of_manifests),
		cmocka_unit_test(refuses_manifests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
