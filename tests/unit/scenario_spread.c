/* Scores with a spread: how papers print them, how LaTeX sets them, which are the best, and which
 * differ by more than their spread. */
#include "scenario_text.h"

#include <string.h>

#define SCORES(cells, table) \
	"{" SMALL ", 'data': [{'id': 'd', 'runs': 5, 'metric': {'acc': 'higher'}, 'columns': " \
	"['variant', 'acc'], 'rows': [" cells "]}], 'tables': [{'id': 'a', 'columns': " \
	"['score:acc']" table "}]}"

static const struct table_case printed[] = {
	{"four notations",
		SCORES("['mha', '84.0 ± 0.3'], ['mqa', '84.0+-0.3'], ['sha', '[83.7, 84.3]']", ""),
		"variant,score:acc,score:acc_spread\nmha,84,0.3\nmqa,84,0.3\nsha,84,0.3\n"},
	{"a middle between two decimals", SCORES("['mha', '[83.7, 84.2]'], ['mqa', '1 (0.5)']", ""),
		"variant,score:acc,score:acc_spread\nmha,83.95,0.25\nmqa,1,0.5\nsha,,\n"},
	{"a spread below zero", SCORES("['mha', '84.0 (-0.3)']", ""),
		"t.json:1:277: the spread of \"84.0 (-0.3)\" in column \"acc\" is negative"},
	{"a range that falls", SCORES("['mha', '[84.3, 83.7]']", ""),
		"t.json:1:277: the spread of \"[84.3, 83.7]\" in column \"acc\" is negative"},
	{"a spread that is no number", SCORES("['mha', '84.0 ± x']", ""),
		"t.json:1:277: \"84.0 ± x\" in column \"acc\" is neither a number nor a date"},
	{"half a range", SCORES("['mha', '[83.7, 84.3']", ""),
		"t.json:1:277: \"[83.7, 84.3\" in column \"acc\" is neither a number nor a date"},
	{"a second best without a best", SCORES("['mha', '1']", ", 'mark_second': true"),
		"t.json:1:305: \"mark_second\" needs \"mark_best\" to be true"},
	{"runs that nobody told",
		"{" SMALL ", 'data': [{'id': 'd', 'columns': ['variant', 'acc'], 'rows': "
		"[['mha', '1 (1)'], ['mqa', '2 (1)']]}], 'tables': [{'id': 'a', 'columns': "
		"['score:acc'], 'significance': 'mha'}]}",
		"t.json: table \"a\": \"significance\" needs \"runs\" in the data set \"d\""},
};

static void reads_spreads(void **state)
{
	(void)state;
	expect_tables(printed, N_OF(printed));
}

#define MARKED(form) \
	SCORES("['mha', '84.0 ± 0.3'], ['mqa', '83.4 ± 0.3'], ['sha', '83.0 ± 0.4']", \
		", 'mark_best': true, 'mark_second': true, 'significance': 'mha', " \
		"'spread': " form)

#define APART(mqa, sha) \
	SCORES("['mha', '10.0000 ± 1.0000'], ['mqa', '" mqa " ± 1.0000'], ['sha', '" sha \
	       " ± 1.0000']", \
		", 'significance': 'mha', 'spread': 'none'")

#define SET(id, runs, metric) \
	"{'id': '" id "', 'runs': " runs ", 'metric': {'" metric "': 'higher'}, 'columns': " \
	"['variant', '" metric "'], 'rows': [['mha', '1.0 ± 0.4'], ['mqa', '2.0 ± 0.4']]}"

#define TWO_SETS \
	"{" SMALL ", 'data': [" SET("d", "5", "acc") ", " SET("e", "3", \
		"f1") "], 'tables': [" \
		      "{'id': 'a', 'columns': ['score:acc', 'score:f1'], 'significance': 'mha'}]}"

/* t is 3.16 of 8 degrees of freedom (p = 0.013), and 4.47 of 7.42 (p = 0.003). */
static void sets_spreads(void **state)
{
	static const struct {
		const char *scenario, *format, *lines[4];
	} cases[] = {
		{MARKED("'brackets'"), "latex",
			{"mha & \\textbf{84.0 (0.3)} \\\\",
				"mqa & \\underline{83.4 (0.3)}$^{*}$ \\\\",
				"sha & 83.0 (0.4)$^{**}$ \\\\",
				"p \\textless{} 0.05, {*}{*} p \\textless{} 0.01, by Welch's"}},
		{MARKED("'subscript'"), "latex",
			{"mha & $\\mathbf{84.0}_{\\pm 0.3}$ \\\\",
				"mqa & $\\underline{83.4}^{*}_{\\pm 0.3}$ \\\\",
				"sha & $83.0^{**}_{\\pm 0.4}$ \\\\"}},
		{MARKED("'plus-minus'"), "latex",
			{"mha & $\\mathbf{84.0 \\pm 0.3}$ \\\\",
				"mqa & $\\underline{83.4^{*} \\pm 0.3}$ \\\\"}},
		{MARKED("'siunitx'"), "latex",
			{"table-format=2.1(1),table-space-text-post={$^{**}$}]",
				"Variant & {score:acc} \\\\", "mha & \\bfseries 84.0 \\pm 0.3 \\\\",
				"sha & 83.0 \\pm 0.4$^{**}$ \\\\"}},
		{MARKED("'none'"), "latex", {"mha & \\textbf{84.0} \\\\"}},
		/* t of 8 degrees of freedom is 2.306004 at 0.05 and 3.355387 at 0.01 */
		{APART("11.4584", "12.1221"), "latex",
			{"mqa & 11.4584 \\\\", "sha & 12.1221$^{*}$ \\\\"}},
		{APART("11.4585", "12.1222"), "latex",
			{"mqa & 11.4585$^{*}$ \\\\", "sha & 12.1222$^{**}$ \\\\"}},
		/* equal means, spreads that are printed as zero */
		{APART("10.0000", "10.5000"), "latex",
			{"mqa & 10.0000 \\\\", "sha & 10.5000 \\\\"}},
		{SCORES("['mha', '1 ± 0'], ['mqa', '2 ± 0']", ", 'significance': 'mha'"), "text",
			{"mqa          2 (0)\n"}},
		/* t is 3.95 of 8 degrees of freedom (p = 0.004), and 3.06 of 4 (p = 0.038) */
		{TWO_SETS, "text", {"mqa      2.0 (0.4)**  2.0 (0.4)*\n", "over 3 to 5 runs each"}},
		{MARKED("'none'"), "text", {"84.0 (0.3)", "83.4 (0.3)*", "83.0 (0.4)**"}},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_text text;
		table_text(cases[i].scenario, 0, "", cases[i].format, &text);
		for (size_t k = 0; k < 4 && cases[i].lines[k]; k++)
			if (!strstr(text.data, cases[i].lines[k]))
				fail_msg("no %s in\n%s", cases[i].lines[k], text.data);
		al_text_finish(&text);
	}
}

/* ---- the poster of MHE (Xue & Aletras 2023): its table of encoder-only models ---- */

static const char *const poster_rows[] = {
	"'SHA', '79.2', '96.7', null, '67.1', '95.1', null, '82.5', '93.1', null, '67.6', '87.8', "
	"null",
	"'MHA', '81.9', '100.0', '0.02', '70.5', '100.0', '0.02', '88.6', '100.0', '0.03', "
	"'77.0', '100.0', '0.06'",
	"'EL-ATT', '80.3', '98.0', '0.02', '69.5', '98.5', '0.06', '86.5', '97.6', '0.08', "
	"'72.2', '93.8', '0.11'",
	"'MQA', '81.3', '99.2', '0.04', '69.3', '98.2', '0.04', '86.7', '97.9', '0.07', '74.8', "
	"'97.1', '0.15'",
	"'SKV', '81.4', '99.4', '0.02', '69.9', '99.1', '0.03', '88.1', '99.4', '0.05', '75.9', "
	"'98.6', '0.09'",
	"'MHE-ADD', '80.4', '98.2', '4.92', '69.1', '97.9', '9.44', '83.7', '94.5', '4.65', "
	"'71.8', '93.2', '19.88'",
	"'MHE-MUL', '80.6', '98.3', '5.53', '69.6', '98.7', '12.07', '85.9', '97.0', '13.19', "
	"'72.3', '93.9', '22.25'",
};
static const char *const poster_columns[] = {"glue", "glue_prr", "glue_peop", "sg", "sg_prr",
	"sg_peop", "v1", "v1_prr", "v1_peop", "v2", "v2_prr", "v2_peop"};

static void add_poster(struct al_text *out)
{
	al_text_add(out, "{'title': 'poster', 'data': [{'id': 'd', 'metric': {");
	for (size_t i = 0; i < N_OF(poster_columns); i++)
		al_text_addf(out, "%s'%s': 'higher'", i ? ", " : "", poster_columns[i]);
	al_text_add(out, "}, 'columns': ['variant'");
	for (size_t i = 0; i < N_OF(poster_columns); i++)
		al_text_addf(out, ", '%s'", poster_columns[i]);
	al_text_add(out, "], 'rows': [");
	for (size_t i = 0; i < N_OF(poster_rows); i++)
		al_text_addf(out, "%s[%s]", i ? ", " : "", poster_rows[i]);
	al_text_add(out,
		"]}], 'tables': [{'id': 'a', 'rows': 'data:d', 'mark_best': true, 'best_among': "
		"['SHA', 'EL-ATT', 'MQA', 'SKV', 'MHE-ADD', 'MHE-MUL'], 'columns': [");
	for (size_t i = 0; i < N_OF(poster_columns); i++)
		al_text_addf(out, "%s'score:%s'", i ? ", " : "", poster_columns[i]);
	al_text_add(out, "]}]}");
}

static void marks_the_best_of_the_poster(void **state)
{
	static const char *const bold[] = {"81.4", "99.4", "69.9", "99.1", "88.1", "99.4", "75.9",
		"98.6", "5.53", "12.07", "13.19", "22.25"};
	struct al_text text, poster;
	size_t n = 0;

	(void)state;
	al_text_init(&poster);
	add_poster(&poster);
	table_text(poster.data, 0, "", "latex", &text);
	for (const char *p = text.data; (p = strstr(p, "\\textbf{")); n++) {
		p += strlen("\\textbf{");
		if (n == N_OF(bold) || strncmp(p, bold[n], strlen(bold[n])) != 0)
			fail_msg("bold number %zu in\n%s", n, text.data);
	}
	assert_int_equal(n, N_OF(bold));
	al_text_finish(&text);
	al_text_finish(&poster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_spreads),
		cmocka_unit_test(sets_spreads),
		cmocka_unit_test(marks_the_best_of_the_poster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
