/* A scenario's data: CSV files, printed numbers, spreads; and sweeps. */
#include "base/output.h"
#include "scenario_text.h"

#include <unistd.h>

/* ---- CSV files ---- */

#define OF_FILE \
	"{" SMALL \
	",\n'data': [{'id': 'd', 'file': 'd.csv'}], 'tables': [{'id': 'a', 'rows': 'data:d', " \
	"'columns': ['score:acc', 'score:ppl']}]}"

/* What a file beside the scenario says, shown by its own rows. */
static const struct csv_case {
	const char *what, *csv, *expected;
} files[] = {
	{"cells and spreads, a missing one",
		"variant,acc,ppl\nmha,83.4 (0.1),\nnew,80.5(0.3),\"1,234.50\"\n",
		"variant,score:acc,score:acc_spread,score:ppl\nmha,83.4,0.1,\nnew,80.5,0.3,1234."
		"5\n"},
	{"CR LF, no end behind the last line", "variant,acc,ppl\r\nmha,1,2\r\nsha,3,4",
		"variant,score:acc,score:ppl\nmha,1,2\nsha,3,4\n"},
	{"CR alone", "variant,acc,ppl\rmha,1,2\rsha,3,4\ra,5,6\rb,7,8\r",
		"variant,score:acc,score:ppl\nmha,1,2\nsha,3,4\na,5,6\nb,7,8\n"},
	{"empty lines", "variant,acc,ppl\n\nmha,1,2\n\n\n",
		"variant,score:acc,score:ppl\nmha,1,2\n"},
	{"quotes", "\"variant\",acc,\"ppl\"\n\"a \"\"b\"\"\",\"1\",\"\"\n",
		"variant,score:acc,score:ppl\n\"a \"\"b\"\"\",1,\n"},
	{"a byte-order mark", "\xEF\xBB\xBFvariant,acc,ppl\nmha,1,2\n",
		"variant,score:acc,score:ppl\nmha,1,2\n"},
	{"columns in another order", "ppl,variant,acc\n2,mha,1\n",
		"variant,score:acc,score:ppl\nmha,1,2\n"},
	{"a header alone", "variant,acc,ppl", "variant,score:acc,score:ppl\n"},

	{"nothing", "", "FOLDER/d.csv: the file is empty, expected a header"},
	{"too few cells", "variant,acc,ppl\nmha,1,2\nsha,3\n",
		"FOLDER/d.csv: record 3: found 2 cells, expected 3"},
	{"a quote that isn't closed", "variant,acc,ppl\nmha,1,\"2\n",
		"FOLDER/d.csv: record 2: unterminated or badly closed quoted cell"},
	{"something behind a quote", "variant,acc,ppl\n\"mha\"x,1,2\n",
		"FOLDER/d.csv: record 2: unterminated or badly closed quoted cell"},
	{"no number", "variant,acc,ppl\nmha,n/a,2\n",
		"FOLDER/d.csv: record 2: \"n/a\" in column \"acc\" is neither a number nor a date"},
	{"no UTF-8", "variant,acc,ppl\n\xFF,1,2\n", "FOLDER/d.csv: byte 17 is not UTF-8 text"},
	{"a name that a path can't hold", "variant,acc,ppl\na/b,1,2\n",
		"FOLDER/d.csv: record 2: the variant name \"a/b\" must not be empty or hold '/', "
		"',', "
		"'[' or ']'"},
	{"an unnamed row", "variant,acc,ppl\n,1,2\n",
		"FOLDER/d.csv: record 2: the variant is missing"},
	{"a column twice", "variant,acc,acc\nmha,1,2\n",
		"FOLDER/d.csv: column \"acc\" appears twice"},
	{"the variant twice", "variant,variant\nmha,mha\n",
		"FOLDER/d.csv: column \"variant\" appears twice"},
	{"a column that no formula could name", "variant,a-b\n",
		"FOLDER/d.csv: the name of column \"a-b\" may only contain letters, digits and "
		"'_'"},
	{"a row twice", "variant,acc,ppl\nmha,1,2\nsha,1,2\nmha,3,4\n",
		"t.json:2:10: data set \"d\" has two rows of mha"},
};

static void write_csv(const char *folder, const char *bytes)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/d.csv", folder);
	assert_true(al_file_write(path, bytes, strlen(bytes), NULL));
}

/* The folder's name as FOLDER. */
static void hide_folder(const char *folder, struct al_text *text)
{
	char *at = strstr(text->data, folder);

	if (!at)
		return;
	memmove(at + 6, at + strlen(folder), strlen(at + strlen(folder)) + 1);
	memcpy(at, "FOLDER", 6);
}

static bool is_read_as(const char *folder, const char *scenario, const char *what,
	const char *expected)
{
	struct al_text text;

	table_text(scenario, 0, folder, "csv", &text);
	hide_folder(folder, &text);
	bool same = strcmp(text.data, expected) == 0;
	if (!same)
		print_error("%s: found\n%s\nexpected\n%s\n", what, text.data, expected);
	al_text_finish(&text);
	return same;
}

static void reads_csv_files(void **state)
{
	size_t n_wrong = 0;

	for (size_t i = 0; i < N_OF(files); i++) {
		write_csv(*state, files[i].csv);
		n_wrong += !is_read_as(*state, OF_FILE, files[i].what, files[i].expected);
	}
	assert_int_equal(n_wrong, 0);
}

static void names_a_file_that_is_not_there(void **state)
{
	assert_true(is_read_as(*state, "{" SMALL ",\n'data': [{'id': 'd', 'file': 'x.csv'}]}",
		"no file", "t.json:2:30: FOLDER/x.csv: can't open: No such file or directory"));
}

static int make_folder(void **state)
{
	static char folder[] = "/tmp/attnledger-data-XXXXXX";

	*state = mkdtemp(folder);
	return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/d.csv", (const char *)*state);
	unlink(path);
	return rmdir(*state);
}

/* ---- data in the scenario ---- */

#define SET(keys) \
	"{" SMALL ", 'cases': [{'id': 'x'}, {'id': 'y'}],\n'data': [{'id': 'd', " keys "}], " \
	"'tables': [{'id': 'a', 'variants': ['mha', 'sha'], 'columns': ['score:acc', " \
	"'d_model']}]}"

static const struct table_case sets[] = {
	{"without a case: for all cases",
		SET("'columns': ['variant', 'acc'], 'rows': [['mha', '1']]"),
		"case,variant,score:acc,d_model\nx,mha,1,4\nx,sha,,4\ny,mha,1,4\ny,sha,,4\n"},
	{"without a variant: for all variants",
		SET("'columns': ['case', 'acc'], 'rows': [['y', '2']]"),
		"case,variant,score:acc,d_model\nx,mha,,4\nx,sha,,4\ny,mha,2,4\ny,sha,2,4\n"},
	{"without both: for everything", SET("'columns': ['acc'], 'rows': [['3']]"),
		"case,variant,score:acc,d_model\nx,mha,3,4\nx,sha,3,4\ny,mha,3,4\ny,sha,3,4\n"},
	{"null is missing", SET("'columns': ['variant', 'acc'], 'rows': [['mha', null]]"),
		"case,variant,score:acc,d_model\nx,mha,,4\nx,sha,,4\ny,mha,,4\ny,sha,,4\n"},

	{"a number that isn't a text", SET("'columns': ['acc'], 'rows': [[3]]"),
		"t.json:2:52: found a number, expected a string"},
	{"a short row", SET("'columns': ['variant', 'acc'], 'rows': [['mha']]"),
		"t.json:2:62: the row has 1 cells, expected 2"},
	{"a case that isn't there", SET("'columns': ['case', 'acc'], 'rows': [['xy', '3']]"),
		"t.json:2:59: unknown case \"xy\" (did you mean \"x\"?)"},
	{"a metric without a column",
		SET("'metric': {'ac': 'higher'}, 'columns': ['acc'], 'rows': []"),
		"t.json:2:39: metric \"ac\" isn't a column of this data set"},
	{"a direction", SET("'metric': {'acc': 'heigher'}, 'columns': ['acc'], 'rows': []"),
		"t.json:2:40: unknown acc \"heigher\" (did you mean \"higher\"?)"},
	{"an id of big letters", "{" SMALL ",\n'data': [{'id': 'D', 'columns': [], 'rows': []}]}",
		"t.json:2:17: id \"D\" may only contain lower-case letters, digits and '-'"},
	{"an id twice",
		"{" SMALL ",\n'data': [{'id': 'd', 'columns': [], 'rows': []}, {'id': 'd', "
		"'columns': [], 'rows': []}]}",
		"t.json:2:57: the id \"d\" appears twice"},
	{"a metric in two sets",
		"{" SMALL ",\n'data': [{'id': 'd', 'columns': ['x'], 'rows': []}, {'id': 'e', "
		"'columns': ['x'], 'rows': []}]}",
		"t.json:2:77: column \"x\" is already in \"d\""},
	{"a file and rows", "{" SMALL ",\n'data': [{'id': 'd', 'file': 'd.csv', 'rows': []}]}",
		"t.json:2:10: expected either \"rows\" or \"file\""},
	{"a file and columns",
		"{" SMALL ",\n'data': [{'id': 'd', 'file': 'd.csv', 'columns': []}]}",
		"t.json:2:30: \"columns\" and \"rows\" can't be combined with \"file\""},
};

static void reads_data(void **state)
{
	(void)state;
	expect_tables(sets, N_OF(sets));
}

/* ---- sweeps ---- */

#define SWEEP(keys) "{" SMALL ",\n'sweeps': [{'id': 's', " keys "}]}"

static const struct table_case sweeps[] = {
	{"a range, variant by variant",
		SWEEP("'variants': ['mha', 'sha'], 'over': {'n_heads': {'from': 1, 'to': 4, "
		      "'step': 2}}, "
		      "'set': {'d_head': 2}, 'measure': 'parameters'"),
		"n_heads,variant,parameters\n1,mha,32\n3,mha,96\n1,sha,32\n3,sha,32\n"},
	{"the product of lists, the last fastest",
		SWEEP("'variants': ['mha'], 'over': {'d_model': [2, 4], 'n_heads': [1, 2]}, "
		      "'measure': ['parameters', 'cache']"),
		"d_model,n_heads,variant,parameters,cache\n2,1,mha,16,4\n2,2,mha,16,4\n4,1,mha,64,"
		"8\n4,2,mha,64,8\n"},
	{"a range of one",
		SWEEP("'variants': ['mha'], 'over': {'n_heads': {'from': 2, 'to': 2}}, 'measure': "
		      "'parameters'"),
		"n_heads,variant,parameters\n2,mha,64\n"},
	{"a tie to a default that follows the point",
		SWEEP("'variants': ['mha'], 'over': {'n_heads': [1, 3]}, "
		      "'tie': {'d_model': 'n_kv_heads*d_head'}, 'set': {'d_head': 2}, 'measure': "
		      "'parameters'"),
		"n_heads,variant,parameters\n1,mha,16\n3,mha,144\n"},
	{"a tie follows the point",
		SWEEP("'variants': ['mha'], 'over': {'n_heads': [1, 3]}, "
		      "'tie': {'d_model': 'n_heads*d_head'}, 'set': {'d_head': 2}, 'measure': "
		      "'parameters'"),
		"n_heads,variant,parameters\n1,mha,16\n3,mha,144\n"},
	{"ties in their order",
		SWEEP("'variants': ['mha'], 'over': {'n_heads': [2]}, 'tie': {'d_head': '3', "
		      "'d_model': 'n_heads*d_head'}, 'measure': 'parameters'"),
		"n_heads,variant,parameters\n2,mha,144\n"},
	{"another basis and case",
		SWEEP("'variants': ['mha'], 'over': {'n_heads': [2]}, 'basis': {'per': 'model', "
		      "'output_projection': 'none'}, 'measure': 'parameters'"),
		"n_heads,variant,parameters\n2,mha,144\n"},
	{"bytes by the recipe",
		SWEEP("'variants': ['sha'], 'over': {'batch': [1, 10]}, 'measure': ['total', "
		      "'activations']"),
		"batch,variant,total,activations\n1,sha,664,24\n10,sha,880,240\n"},

	{"10^12 points",
		SWEEP("'over': {'n_heads': {'from': 1, 'to': 1000000}, 'd_head': {'from': 1, "
		      "'to': 1000000}}, 'measure': 'total'"),
		"t.json:2:12: the sweep has more than the maximum of 1000000 points"},
	{"2^53 points",
		SWEEP("'over': {'n_heads': {'from': 0, 'to': 9007199254740991}}, "
		      "'measure': 'total'"),
		"t.json:2:12: the sweep has more than the maximum of 1000000 points"},
	{"10^6 points of each of two",
		"{" SMALL
		",\n'sweeps': [{'id': 's', 'variants': ['mha'], 'over': {'n_heads': {'from': 1, "
		"'to': 999999}}, 'measure': 'total'}, "
		"{'id': 't', 'variants': ['mha'], 'over': {'n_heads': [1, 2]}, 'measure': "
		"'total'}]}",
		"t.json:2:114: the file's sweeps have more than 1000000 points"},
	{"backwards", SWEEP("'over': {'n_heads': {'from': 2, 'to': 1}}, 'measure': 'total'"),
		"t.json:2:12: n_heads: the range 2 to 1 is empty"},
	{"standing still",
		SWEEP("'over': {'n_heads': {'from': 1, 'to': 2, 'step': 0}}, "
		      "'measure': 'total'"),
		"t.json:2:73: found 0, expected 1 or more"},
	{"over nothing", SWEEP("'over': {}, 'measure': 'total'"),
		"t.json:2:32: the sweep goes over no symbol"},
	{"an empty list", SWEEP("'over': {'n_heads': []}, 'measure': 'total'"),
		"t.json:2:44: the list of values is empty"},
	{"no measure", SWEEP("'over': {'n_heads': [1]}, 'measure': []"),
		"t.json:2:61: the list of measures is empty"},
	{"an unknown symbol", SWEEP("'over': {'n_haeds': [1]}, 'measure': 'total'"),
		"t.json:2:44: unknown symbol \"n_haeds\" (did you mean \"n_heads\"?)"},
	{"an unknown measure", SWEEP("'over': {'n_heads': [1]}, 'measure': 'totals'"),
		"t.json:2:61: unknown measure \"totals\" (did you mean \"total\"?)"},
	{"swept and tied",
		SWEEP("'over': {'n_heads': [1]}, 'tie': {'n_heads': '2'}, 'measure': 'total'"),
		"t.json:2:12: the sweep goes over n_heads, which is also tied"},
	{"a tie that isn't whole",
		SWEEP("'variants': ['mha'], 'over': {'n_heads': [3]}, 'tie': {'d_head': "
		      "'4/n_heads'}, "
		      "'measure': 'total'"),
		"t.json: sweep \"s\": n_heads = 3: d_head: 4/n_heads = 4/3 is not a whole number"},
	{"a point that isn't exact",
		SWEEP("'variants': ['mha'], 'over': {'n_heads': [2, 3]}, 'measure': 'total'"),
		"t.json: sweep \"s\": n_heads = 3: variant mha (built-in): tensor W_Q: default of "
		"d_head: "
		"d_model/n_heads = 4/3 is not a whole number"},
	{"a variant that only data know",
		"{" SMALL
		", 'data': [{'id': 'd', 'columns': ['variant', 'x'], 'rows': [['new', '1']]}],\n"
		"'sweeps': [{'id': 's', 'variants': ['new'], 'over': {'n_heads': [1]}, "
		"'measure': 'total'}]}",
		"t.json:2:37: variant \"new\" is known from data only"},
};

static void sweeps_symbols(void **state)
{
	(void)state;
	expect_tables(sweeps, N_OF(sweeps));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_csv_files),
		cmocka_unit_test(names_a_file_that_is_not_there),
		cmocka_unit_test(reads_data),
		cmocka_unit_test(sweeps_symbols),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
