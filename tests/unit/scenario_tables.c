/* A scenario's tables: which rows, which columns, what a formula asks. */
#include "scenario_text.h"

#define TABLE(keys) "{" SMALL ",\n'tables': [{'id': 'a', " keys "}]}"
#define CASES "'cases': [{'id': 'x'}, {'id': 'y', 'set': {'d_model': 8, 'd_head': 2}}]"
#define OF_CASES(keys) "{" SMALL ", " CASES ",\n'tables': [{'id': 'a', " keys "}]}"

/* Scores of two variants in two cases; a perplexity, and a cell that is missing. */
#define DATA \
	"'data': [{'id': 'd', 'metric': {'acc': 'higher', 'ppl': 'lower'}, " \
	"'columns': ['case', 'variant', 'acc', 'ppl', 'plain'], 'rows': [" \
	"['x', 'mha', '80.0', '20', '1'], ['x', 'sha', '60.0 (0.5)', '25', '2'], " \
	"['y', 'mqa', '40', null, '3'], ['y', 'seen', '50', '10', '4']]}]"
#define OF_DATA(keys) "{" SMALL ", " CASES ", " DATA ",\n'tables': [{'id': 'a', " keys "}]}"

static const struct table_case rows[] = {
	{"one case: its variants", TABLE("'columns': ['parameters']"),
		"variant,parameters\nmha,64\nmqa,48\nsha,32\n"},
	{"some variants, in the table's order",
		TABLE("'variants': ['sha', 'mha'], 'columns': ['parameters']"),
		"variant,parameters\nsha,32\nmha,64\n"},
	{"several of both: their product",
		OF_CASES("'variants': ['mha', 'sha'], 'columns': ['parameters']"),
		"case,variant,parameters\nx,mha,64\nx,sha,32\ny,mha,128\ny,sha,64\n"},
	{"one of several cases: variants", OF_CASES("'case': 'y', 'columns': ['parameters']"),
		"variant,parameters\nmha,128\nmqa,96\nsha,64\n"},
	{"a list of one case",
		OF_CASES("'cases': ['y'], 'variants': ['sha'], 'columns': ['parameters']"),
		"variant,parameters\nsha,64\n"},
	{"several cases, one variant: cases",
		OF_CASES("'variants': ['mqa'], 'columns': ['parameters']"),
		"case,parameters\nx,48\ny,96\n"},
	{"rows that are asked for",
		OF_CASES("'rows': 'product', 'case': 'x', 'variants': ['mqa'], 'columns': "
			 "['parameters']"),
		"case,variant,parameters\nx,mqa,48\n"},
	{"rows of cases without a variant", OF_CASES("'rows': 'cases', 'columns': ['d_model']"),
		"case,d_model\nx,4\ny,8\n"},
	{"rows of a data set, in its order",
		OF_DATA("'rows': 'data:d', 'columns': ['score:plain', 'parameters']"),
		"case,variant,score:plain,parameters\nx,mha,1,64\nx,sha,2,32\ny,mqa,3,96\ny,seen,4,"
		"\n"},
	{"pivot: a row a case, a column a variant",
		OF_CASES("'pivot': 'variant', 'variants': ['mha', 'sha'], 'columns': "
			 "['parameters']"),
		"case,parameters:mha,parameters:sha\nx,64,32\ny,128,64\n"},
	{"pivot: a column once, a column of some variants",
		OF_CASES("'pivot': 'variant', 'columns': [{'key': 'd_model', 'once': true}, "
			 "{'key': 'parameters', 'variants': ['sha']}]"),
		"case,d_model,parameters:sha\nx,4,32\ny,8,64\n"},
	{"one case without variants",
		"{'title': 't', 'model': 'gpt2', 'tables': [{'id': 'a', 'columns': ['d_model']}]}",
		"case,d_model\n,768\n"},
	{"pivot without variants",
		"{'title': 't', 'model': 'gpt2', 'tables': [{'id': 'a', 'pivot': 'variant', "
		"'columns': [{'key': 'd_model', 'once': true}]}]}",
		"case,d_model\n,768\n"},
	{"pivot without cases",
		TABLE("'pivot': 'variant', 'variants': ['mha', 'mqa'], 'columns': ['parameters']"),
		"parameters:mha,parameters:mqa\n64,48\n"},
};

static const struct table_case columns[] = {
	{"set and basis over the case's own",
		TABLE("'variants': ['mha'], 'set': {'n_heads': 1}, 'basis': {'output_projection': "
		      "'none', "
		      "'per': 'model'}, 'columns': ['parameters', 'n_heads', 'd_head', 'modules']"),
		"variant,parameters,n_heads,d_head,modules\nmha,144,1,4,3\n"},
	{"per is short for the basis' own",
		TABLE("'variants': ['sha'], 'per': 'model', 'columns': ['parameters', 'modules']"),
		"variant,parameters,modules\nsha,96,3\n"},
	/* smith2022: 6 + 6 + 8 bytes a parameter, batch*seq*d_model*2 = 24 bytes of activations */
	{"bytes by the recipe, saving against the baseline",
		TABLE("'variants': ['mha', 'sha'], 'baseline': 'mha', 'columns': ['weights', "
		      "'gradients', "
		      "'optimizer', 'activations', 'total', {'key': 'saving', 'digits': 2}]"),
		"variant,weights,gradients,optimizer,activations,total,saving\nmha,384,384,512,24,"
		"1304,0\nsha,192,192,256,24,664,49.079754601227\n"},
	{"cache: elements a token, bytes of 3 tokens in two bytes each",
		TABLE("'columns': ['cache', 'cache_bytes']"),
		"variant,cache,cache_bytes\nmha,8,48\nmqa,4,24\nsha,4,24\n"},
	{"a formula over other columns and rows",
		TABLE("'columns': ['parameters', {'key': 'share', "
		      "'formula': '100*parameters/parameters[mha]'}, {'key': 'twice', "
		      "'formula': '2*share + share[sha]'}]"),
		"variant,parameters,share,twice\nmha,64,100,250\nmqa,48,75,200\nsha,32,50,150\n"},
	{"a formula over what is no column: measure, symbol",
		TABLE("'variants': ['mha'], 'columns': [{'key': 'q', "
		      "'formula': 'parameters - d_model*n_heads + if(n_layers == 3, min(1, 2), "
		      "0)'}]"),
		"variant,q\nmha,57\n"},
	{"a formula over another case's row, in a product",
		OF_CASES("'variants': ['mha', 'sha'], 'columns': [{'key': 'q', "
			 "'formula': 'parameters[x,mha] + parameters[sha]'}]"),
		"case,variant,q\nx,mha,96\nx,sha,96\ny,mha,128\ny,sha,128\n"},
	{"a formula over another case, in a table of cases",
		OF_CASES("'variants': ['mha'], 'columns': [{'key': 'q', "
			 "'formula': 'parameters/parameters[x]'}]"),
		"case,q\nx,1\ny,2\n"},
	{"thirds stay exact until they are written",
		TABLE("'variants': ['mha'], 'columns': [{'key': 'q', 'formula': '1/3'}, {'key': "
		      "'r', "
		      "'formula': '3*q'}]"),
		"variant,q,r\nmha,0.333333333333333,1\n"},
	{"a unit changes what people read, not the number",
		TABLE("'variants': ['mha'], 'columns': [{'key': 'parameters', 'unit': 'k', "
		      "'digits': 1}]"),
		"variant,parameters\nmha,64\n"},
	{"formula, difference, order",
		TABLE("'variants': ['mha', 'sha'], 'substitute': {'d_model': 'n_heads*d_head'}, "
		      "'order': 'n_heads', 'against': 'sha', 'columns': ['formula', 'difference', "
		      "'order']"),
		"variant,formula,difference,order\nmha,4*d_head^2*n_heads^2,4*d_head^2*n_heads^2 - "
		"4*d_head^2*n_heads,O(n_heads^2)\n"
		"sha,4*d_head^2*n_heads,0,O(n_heads)\n"},
};

/* PRR of accuracy: 100*60/80; of perplexity: 100*(1 - (25 - 20)/20). PEoP: (80/60 - 1)/(64/32 -
 * 1). */
static const struct table_case metrics[] = {
	{"scores and their spreads", OF_DATA("'case': 'x', 'columns': ['score:acc']"),
		"variant,score:acc,score:acc_spread\nmha,80,\nmqa,,\nsha,60,0.5\n"},
	{"retention, higher and lower is better",
		OF_DATA("'case': 'x', 'retention': 'mha', 'columns': ['prr:acc', 'prr:ppl']"),
		"variant,prr:acc,prr:ppl\nmha,100,100\nmqa,,\nsha,75,75\n"},
	{"elasticity; none of the base itself",
		OF_DATA("'case': 'x', 'elasticity': 'sha', 'columns': ['peop:acc', 'peop:ppl']"),
		"variant,peop:acc,peop:ppl\nmha,0.333333333333333,0.2\nmqa,,\nsha,,\n"},
	{"a missing cell makes what needs it missing, never zero",
		OF_DATA("'case': 'x', 'columns': [{'key': 'q', 'formula': 'acc + 1'}, {'key': 'r', "
			"'formula': 'q[mqa]'}, {'key': 's', 'formula': 'if(n_heads == 2, 7, "
			"acc)'}]"),
		"variant,q,r,s\nmha,81,,7\nmqa,,,7\nsha,61,,7\n"},
	{"a reference without a score",
		OF_DATA("'case': 'y', 'retention': 'mha', 'variants': ['mqa'], 'columns': "
			"['prr:acc']"),
		"variant,prr:acc\nmqa,\n"},
	{"a variant that only data know",
		OF_DATA("'case': 'y', 'variants': ['seen'], 'columns': ['score:acc', 'parameters', "
			"'modules', 'formula']"),
		"variant,score:acc,parameters,modules,formula\nseen,50,,,\n"},
};

static const struct table_case refusals[] = {
	{"unknown column", TABLE("'columns': ['paramters']"),
		"t.json:2:36: unknown column \"paramters\" (did you mean \"parameters\"?)"},
	{"unknown metric", OF_DATA("'columns': ['score:acx']"),
		"t.json:2:36: unknown metric \"acx\" (did you mean \"acc\"?)"},
	{"unknown data set", OF_DATA("'rows': 'data:e', 'columns': ['parameters']"),
		"t.json:2:32: no data set \"e\""},
	{"unknown variant", TABLE("'variants': ['mhaa'], 'columns': ['parameters']"),
		"t.json:2:37: unknown variant \"mhaa\" (did you mean \"mha\"?)"},
	{"unknown case", OF_CASES("'case': 'z', 'columns': ['parameters']"),
		"t.json:2:32: unknown case \"z\" (did you mean \"x\"?)"},
	{"both", OF_CASES("'case': 'x', 'cases': ['y'], 'columns': ['parameters']"),
		"t.json:2:12: expected either \"case\" or \"cases\""},
	{"no case at all", OF_CASES("'cases': [], 'columns': ['parameters']"),
		"t.json:2:33: the list of cases is empty"},
	{"no column", TABLE("'columns': []"), "t.json:2:35: the list of columns is empty"},
	{"a column twice", TABLE("'columns': ['total', 'total']"),
		"t.json:2:45: column \"total\" appears twice"},
	{"an unknown symbol to substitute",
		TABLE("'substitute': {'d_modle': '1'}, 'columns': ['formula']"),
		"t.json:2:50: unknown symbol \"d_modle\" (did you mean \"d_model\"?)"},
	{"an unknown symbol of the order", TABLE("'order': 'n_haeds', 'columns': ['order']"),
		"t.json:2:33: unknown symbol \"n_haeds\" (did you mean \"n_heads\"?)"},
	{"an unknown basis", TABLE("'basis': {'output': 'own'}, 'columns': ['total']"),
		"t.json:2:44: unknown basis \"output\" (did you mean \"output_projection\"?)"},
	{"an unknown recipe", TABLE("'recipe': 'smith2020', 'columns': ['total']"),
		"t.json:2:34: unknown recipe \"smith2020\" (did you mean \"smith2022\"?)"},
	{"a measure of rows without a variant",
		OF_CASES("'rows': 'cases', 'columns': ['d_model', 'parameters']"),
		"t.json: table \"a\": parameters of a case needs a variant"},
	{"a variant twice",
		"{'title': 't', 'variants': ['mha',\n{'use': 'mha', 'n_heads': 2}], 'tables': "
		"[{'id': 'a', 'columns': ['parameters']}]}",
		"t.json:2:1: variant \"mha\" appears twice; give one another name with \"as\""},
	{"saving without a baseline", TABLE("'columns': ['saving']"),
		"t.json: table \"a\": column \"saving\" needs the key \"baseline\""},
	{"a plain number has no better",
		OF_DATA("'case': 'x', 'retention': 'mha', 'columns': ['prr:plain']"),
		"t.json: metric \"plain\" doesn't specify whether higher or lower is better"},
	{"a column that needs itself",
		TABLE("'columns': [{'key': 'q', 'formula': 'r'}, {'key': 'r', 'formula': 'q + "
		      "1'}]"),
		"t.json: table \"a\", column \"q\": column \"r\" refers to itself"},
	{"an unknown name in a formula",
		TABLE("'columns': [{'key': 'q', 'formula': '1 + paramters'}]"),
		"t.json: table \"a\", column \"q\": column 5: unknown symbol \"paramters\" (did "
		"you mean "
		"\"parameters\"?)"},
	{"an unknown row in a formula", TABLE("'columns': [{'key': 'q', 'formula': 'total[mhq]'}]"),
		"t.json: table \"a\", column \"q\": unknown variant \"mhq\" (did you mean "
		"\"mha\"?)"},
	{"a division by zero", TABLE("'columns': [{'key': 'q', 'formula': '1/(total - total)'}]"),
		"t.json: table \"a\", column \"q\": column 2: division by zero in \"1/(total - "
		"total)\""},
	{"d_model/n_heads is not exact", TABLE("'set': {'n_heads': 3}, 'columns': ['parameters']"),
		"t.json: table \"a\": variant mha (built-in): tensor W_Q: default of d_head: "
		"d_model/n_heads = 4/3 is not a whole number"},
	{"a dimension of zero", TABLE("'set': {'d_model': 0}, 'columns': ['parameters']"),
		"t.json: table \"a\": variant mha (built-in): tensor W_Q: d_model = 0, expected 1 "
		"or more"},
	{"a negative dimension", TABLE("'set': {'d_model': -4}, 'columns': ['parameters']"),
		"t.json:2:43: found -4, expected 0 or more"},
	{"not whole", TABLE("'set': {'d_model': 4.5}, 'columns': ['parameters']"),
		"t.json:2:43: found 4.5, expected a whole number"},
	{"2^53", TABLE("'set': {'d_model': 9007199254740992}, 'columns': ['parameters']"),
		"t.json:2:43: the number is too large to be exact (2^53 or more)"},
	{"no model",
		"{'title': 't', 'variants': ['mha'], 'tables': [{'id': 'a', "
		"'columns': ['parameters']}]}",
		"t.json: table \"a\": variant mha (built-in): tensor W_Q: symbol \"d_model\" is "
		"not set"},
};

static void chooses_rows(void **state)
{
	(void)state;
	expect_tables(rows, N_OF(rows));
}

static void computes_columns(void **state)
{
	(void)state;
	expect_tables(columns, N_OF(columns));
}

static void computes_metrics(void **state)
{
	(void)state;
	expect_tables(metrics, N_OF(metrics));
}

static void refuses_what_it_cannot_answer(void **state)
{
	(void)state;
	expect_tables(refusals, N_OF(refusals));
}

/* LaTeX sets the best of each metric bold, by the metric's direction; ties are all best. */
static void marks_the_best(void **state)
{
	struct al_text text;

	(void)state;
	table_text(OF_DATA("'case': 'x', 'variants': ['mha', 'sha'], 'mark_best': true, "
			   "'columns': ['score:acc', 'score:ppl', 'score:plain', "
			   "{'key': 'parameters', 'best': 'lower'}]"),
		0, "", "latex", &text);
	assert_non_null(strstr(text.data, "mha & \\textbf{80.0} & \\textbf{20} & 1 & 64 \\\\"));
	assert_non_null(strstr(text.data, "& 25 & 2 & \\textbf{32} \\\\"));
	assert_null(strstr(text.data, "\\textbf{60"));
	al_text_finish(&text);
}

#define TWO_CASES(rest) \
	"{" SMALL ", 'cases': [{'id': 'x'}, {'id': 'y'}], 'data': [{'id': 'd', " \
	"'metric': {'acc': 'higher'}, 'columns': ['case', 'variant', 'acc'], 'rows': [" \
	"['x', 'mha', '90.0'], ['x', 'mqa', '80.04'], ['x', 'sha', '80.00'], " \
	"['y', 'mha', '10.0'], ['y', 'mqa', '30.0'], ['y', 'sha', '20.0']]}], 'tables': [{" \
	"'id': 'a', 'mark_best': true, " rest "}]}"

/* The best of each case, not of the column; what reads the same is equally good; a reference that
 * is no competitor is never marked. */
static void marks_the_best_of_each_case(void **state)
{
	static const struct {
		const char *what, *scenario, *bold[5];
	} cases[] = {
		{"each case", TWO_CASES("'columns': ['score:acc']"), {"90.0", "30.0"}},
		{"without the reference",
			TWO_CASES("'best_among': ['mqa', 'sha'], 'columns': ['score:acc']"),
			{"80.04", "30.0"}},
		{"a tie as it reads",
			TWO_CASES("'best_among': ['mqa', 'sha'], 'columns': [{'key': 'score:acc', "
				  "'digits': 1}]"),
			{"80.0", "80.0", "30.0"}},
		{"a tie in millions",
			TWO_CASES("'case': 'x', 'columns': [{'key': 'parameters', 'unit': 'M', "
				  "'best': 'lower', 'digits': 2}]"),
			{"0.00", "0.00", "0.00"}},
		{"a pivoted table",
			TWO_CASES("'pivot': 'variant', 'best_among': ['mqa', 'sha'], 'columns': "
				  "['score:acc']"),
			{"80.04", "30.0"}},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_text text;
		size_t n = 0;
		table_text(cases[i].scenario, 0, "", "latex", &text);
		for (const char *p = text.data; (p = strstr(p, "\\textbf{")); n++) {
			const char *expected = n < 5 && cases[i].bold[n] ? cases[i].bold[n] : "";
			p += strlen("\\textbf{");
			if (!*expected || strncmp(p, expected, strlen(expected)) != 0)
				fail_msg("%s: bold %zu in\n%s", cases[i].what, n, text.data);
		}
		assert_null(n < 5 ? cases[i].bold[n] : NULL);
		al_text_finish(&text);
	}
}

/* A datum is read as its source prints it. */
static void keeps_the_last_digit(void **state)
{
	static const char *const formats[] = {"text", "latex", "markdown"};
	struct al_text text;

	(void)state;
	for (size_t i = 0; i < N_OF(formats); i++) {
		table_text("{" SMALL ", 'data': [{'id': 'd', 'columns': ['variant', 'acc'], "
			   "'rows': [['mha', '84.0 (0.30)'], ['mqa', '0.123450'], "
			   "['sha', '7']]}], 'tables': [{'id': 'a', 'columns': ['score:acc', "
			   "{'key': 'q', 'formula': 'acc + 0'}]}]}",
			0, "", formats[i], &text);
		assert_non_null(strstr(text.data, "84.0 (0.30)"));
		assert_non_null(strstr(text.data, "0.123450"));
		assert_null(strstr(text.data, "7.0"));
		al_text_finish(&text);
	}
}

/* A pivoted column is called as its variant is, in the group of what it counts. */
static void pivoted_columns_have_titles(void **state)
{
	struct al_catalog *catalog = al_catalog_create();
	struct al_scenario *s = NULL;
	struct al_table table;
	struct al_error err = {0};

	(void)state;
	if (!parse_text(&s, catalog, "",
		    "{'title': 't', 'set': {'d_model': 4, 'n_heads': 2}, 'variants': ['mha', "
		    "{'use': 'mqa', 'title': 'MQ'}], " CASES ", 'tables': [{'id': 'a', "
		    "'pivot': 'variant', 'columns': [{'key': 'parameters', 'title': 'P', "
		    "'group': 'G'}, {'key': 'd_model', 'once': true}]}]}",
		    &err)
		|| !al_scenario_table(s, 0, &table, &err))
		fail_msg("%s", err.message);
	const int mha = al_table_find_column(&table, "parameters:mha"),
		  mqa = al_table_find_column(&table, "parameters:mqa"),
		  once = al_table_find_column(&table, "d_model");
	assert_true(mha >= 0 && mqa == mha + 1 && once == mqa + 1);
	assert_string_equal(table.columns[mha].group, "G P");
	assert_string_equal(table.columns[mha].title, "mha");
	assert_string_equal(table.columns[mqa].title, "MQ");
	assert_null(table.columns[once].group);
	al_table_finish(&table);
	al_scenario_destroy(s);
	al_catalog_destroy(catalog);
}

/* Each number stands beside the conventions that it depends on, and no others. */
static void notes_conventions(void **state)
{
	static const struct {
		const char *columns;
		bool basis, recipe;
	} cases[] = {
		{"'n_heads'", false, false},
		{"'score:acc'", false, false},
		{"'parameters'", true, false},
		{"'total'", true, true},
		{"'saving'", true, true},
		{"{'key': 'share', 'formula': '100-saving'}", true, true},
		{"{'key': 'half', 'formula': 'parameters/2'}", true, false},
		{"'peop:acc'", true, false},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_text scenario, text;
		al_text_init(&scenario);
		al_text_addf(&scenario,
			OF_DATA("'case': 'x', 'variants': ['mha', 'sha'], 'baseline': 'mha', "
				"'elasticity': 'sha', 'columns': [%s]"),
			cases[i].columns);
		table_text(scenario.data, 0, "", "markdown", &text);
		assert_int_equal(strstr(text.data, "counted: ") != NULL, cases[i].basis);
		assert_int_equal(strstr(text.data, "recipe: smith2022") != NULL, cases[i].recipe);
		al_text_finish(&text);
		al_text_finish(&scenario);
	}
}

/* Formulas of formulas: a small file must not ask for 4^40 look-ups. Of nine columns, each four
 * times the next, the last is one of n data, which count n/16 look-ups: 87381 times 2 + n/16, and
 * 29124 for the others' formulas. */
static void bounds_what_formulas_ask(void **state)
{
	static const struct {
		int n_data;
		const char *expected;
	} cases[] = {
		{1503, "\nmha,65536,16384,4096,1024,256,64,16,4,1\n"},
		{1504, "more than 8388608 cells are looked up"},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_text scenario, text;
		al_text_init(&scenario);
		al_text_add(&scenario,
			"{" SMALL ", 'data': [{'id': 'd', 'metric': {'acc': 'higher'}, "
			"'columns': ['variant', 'acc'], 'rows': [['mha', '1']");
		for (int k = 1; k < cases[i].n_data; k++)
			al_text_addf(&scenario, ", ['%c%d', '1']", 'a' + k % 26, k);
		al_text_add(&scenario,
			"]}], 'tables': [{'id': 'a', 'variants': ['mha'], 'columns': [");
		for (char c = 'a'; c < 'i'; c++)
			al_text_addf(&scenario, "{'key': '%cq', 'formula': '%cq+%cq+%cq+%cq'}, ", c,
				c + 1, c + 1, c + 1, c + 1);
		al_text_add(&scenario, "{'key': 'iq', 'formula': 'acc'}]}]}");
		table_text(scenario.data, 0, "", "csv", &text);
		assert_non_null(strstr(text.data, cases[i].expected));
		al_text_finish(&scenario);
		al_text_finish(&text);
	}
}

/* Whose names differ soon: all are compared. */
static void add_cases(struct al_text *scenario, int n)
{
	al_text_init(scenario);
	al_text_add(scenario, "{" SMALL ", 'cases': [");
	for (int i = 0; i < n; i++)
		al_text_addf(scenario, "%s{'id': '%c%d'}", i ? ", " : "", 'a' + i % 26, i);
	al_text_add(scenario, "], 'tables': [{'id': 'a', 'columns': [");
}

/* A million cells: 10,000 cases of three variants in 33 columns, 10,000 rows of two listings. */
static void bounds_the_cells(void **state)
{
	static const struct {
		int n_columns, n_rows;
		const char *expected;
	} cases[] = {
		{34, 0, "the file's tables have more than 1000000 cells"},
		{33, 10001, "more than 1000000 cells in all tables"},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_text scenario, text;
		add_cases(&scenario, 10000);
		for (int k = 0; k < cases[i].n_columns; k++)
			al_text_addf(&scenario, "%s{'key': 'q%c%c', 'formula': '1'}", k ? ", " : "",
				'a' + k / 26, 'a' + k % 26);
		al_text_add(&scenario, "]}], 'listings': [{'id': 'l', 'columns': ['x'], 'rows': [");
		for (int k = 0; k < cases[i].n_rows; k++)
			al_text_add(&scenario,
				k == 5000   ? "]}, {'id': 'm', 'columns': ['x'], 'rows': [['1']"
					: k ? ", ['1']"
					    : "['1']");
		al_text_add(&scenario, "]}]}");
		table_text(scenario.data, 0, "", "csv", &text);
		assert_non_null(strstr(text.data, cases[i].expected));
		al_text_finish(&scenario);
		al_text_finish(&text);
	}
}

static void bounds_the_ledgers(void **state)
{
	static const char *const ends[] = {"\nh4999,4\n",
		"the file asks for the ledgers of more than 5000 (case, variant) pairs"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct al_text scenario, text;
		add_cases(&scenario, 5000 + i);
		al_text_add(&scenario, "'d_model'], 'rows': 'cases'}]}");
		table_text(scenario.data, 0, "", "csv", &text);
		assert_non_null(strstr(text.data, ends[i]));
		al_text_finish(&scenario);
		al_text_finish(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses_rows),
		cmocka_unit_test(computes_columns),
		cmocka_unit_test(computes_metrics),
		cmocka_unit_test(refuses_what_it_cannot_answer),
		cmocka_unit_test(marks_the_best),
		cmocka_unit_test(marks_the_best_of_each_case),
		cmocka_unit_test(keeps_the_last_digit),
		cmocka_unit_test(pivoted_columns_have_titles),
		cmocka_unit_test(notes_conventions),
		cmocka_unit_test(bounds_what_formulas_ask),
		cmocka_unit_test(bounds_the_cells),
		cmocka_unit_test(bounds_the_ledgers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
