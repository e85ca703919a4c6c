/* Claims: each verdict, each relation and rounding, boxes of data, polynomials, errata. */
#include "base/number.h"
#include "scenario_text.h"

enum { P_VALUE = 5, P_LOW, P_HIGH, P_VERDICT, P_NOTE };

/* a = 2.0 is 1.95..2.05, b = 4 is 3.5..4.5; the exact set has no interval. */
#define HEAD \
	"{" SMALL ", 'data': [" \
	"{'id': 'd', 'metric': {'a': 'higher', 'z': 'higher'}, 'columns': ['variant', 'a', 'b', " \
	"'none', 'x', 'p', 'q', 'z'], 'rows': " \
	"[['mha', " \
	"'2.0', '4', null, '0.5', '81.2', '81.3', '5'], ['sha', '-1.0', '8', null, null, null, " \
	"null, " \
	"'0']]}" \
	", " \
	"{'id': 'e', 'exact': true, 'columns': ['variant', 'count'], 'rows': [['mha', '7']]}, " \
	"{'id': 'on', 'columns': ['variant', 'day'], 'rows': [['mha', '2023-09'], ['sha', " \
	"'2025-07']]}], " \
	"'tables': [{'id': 't', 'substitute': {'d_model': 'n_heads*d_head'}, 'order': 'n_heads', " \
	"'against': 'sha', 'retention': 'mha', 'columns': [{'key': 'parameters', 'unit': 'k'}, " \
	"'formula', 'difference', 'order', 'prr:a', 'prr:z', " \
	"{'key': 'half', 'formula': 'a/b'}]}], " \
	"'sweeps': [{'id': 's', 'over': {'n_heads': [1, 2], 'd_head': {'from': 1, 'to': 5, " \
	"'step': 2}}, " \
	"'measure': ['parameters', 'cache']}], 'questions': [{'id': 'asked', 'ask': 'count " \
	"gpt2'}]," \
	"\n'claims': [{'id': 'c', "

#define PQ "'with': {'p': 'd/mha/p', 'q': 'd/mha/q'}"
#define AB "'with': {'a': 'd/mha/a', 'b': 'd/mha/b'}"

/* A claim, its verdict, and its value, low and high where they matter. */
static const struct claim_case {
	const char *claim, *verdict, *value, *low, *high;
} verdicts[] = {
	/* 64 parameters are 0.064 k by the column's unit */
	{"'printed': '0.064', 'value': 't/mha/parameters'", "reproduced", "0.064", "0.064",
		"0.064"},
	{"'printed': '0.06', 'value': 't/mha/parameters'", "reproduced", NULL, NULL, NULL},
	{"'printed': '0.07', 'value': 't/mha/parameters'", "inconsistent", NULL, NULL, NULL},
	{"'printed': '64', 'unit': '', 'value': 't/mha/parameters'", "reproduced", "64", "64",
		"64"},
	{"'printed': '64', 'unit': 'parameters', 'value': 't/mha/parameters'", "reproduced", "64",
		NULL, NULL},
	{"'printed': '0.0625', 'unit': 'KiB', 'value': 't/mha/parameters'", "reproduced", "0.0625",
		NULL, NULL},
	/* 64 in every unit */
	{"'printed': '0.000000000064', 'unit': 'TB', 'value': 't/mha/parameters'", "reproduced",
		"0.000000000064", NULL, NULL},
	{"'printed': '0.000000064', 'unit': 'GB', 'value': 't/mha/parameters'", "reproduced",
		"0.000000064", NULL, NULL},
	{"'printed': '0.000064', 'unit': 'MB', 'value': 't/mha/parameters'", "reproduced",
		"0.000064", NULL, NULL},
	{"'printed': '0.064', 'unit': 'kB', 'value': 't/mha/parameters'", "reproduced", "0.064",
		NULL, NULL},
	{"'printed': '0.000000064', 'unit': 'B', 'value': 't/mha/parameters'", "reproduced",
		"0.000000064", NULL, NULL},
	{"'printed': '0.000064', 'unit': 'M', 'value': 't/mha/parameters'", "reproduced",
		"0.000064", NULL, NULL},
	{"'printed': '1.00', 'unit': 'MiB', 'value': '16384*p', 'with': {'p': "
	 "'t/mha/parameters'}",
		"reproduced", "1", NULL, NULL},
	{"'printed': '1.00', 'unit': 'GiB', 'value': '16777216*p', 'with': {'p': "
	 "'t/mha/parameters'}",
		"reproduced", "1", NULL, NULL},
	{"'printed': '1.00', 'unit': 'TiB', 'value': '17179869184*p', 'with': {'p': "
	 "'t/mha/parameters'}",
		"reproduced", "1", NULL, NULL},
	/* a column that the table doesn't print */
	{"'printed': '4', 'value': 't/mha/d_model'", "reproduced", "4", "4", "4"},
	/* data: the point and the interval that it was rounded from */
	{"'printed': '2', 'value': 'd/mha/a'", "reproduced", "2", "1.95", "2.05"},
	{"'printed': '2.05', 'value': 'd/mha/a'", "consistent", "2", "1.95", "2.05"},
	{"'printed': '2.06', 'value': 'd/mha/a'", "inconsistent", "2", "1.95", "2.05"},
	/* intervals that share an end meet: 1.9 stands for 1.85 to 1.95, 2.1 for 2.05 to 2.15 */
	{"'printed': '1.9', 'value': 'd/mha/a'", "consistent", "2", "1.95", "2.05"},
	{"'printed': '2.1', 'value': 'd/mha/a'", "consistent", "2", "1.95", "2.05"},
	{"'printed': '1.8', 'value': 'd/mha/a'", "inconsistent", "2", "1.95", "2.05"},
	{"'printed': '2.2', 'value': 'd/mha/a'", "inconsistent", "2", "1.95", "2.05"},
	{"'printed': '7', 'value': 'e/mha/count'", "reproduced", "7", "7", "7"},
	{"'printed': '7.4', 'value': 'e/mha/count'", "inconsistent", "7", "7", "7"},
	/* 22 months, of days somewhere within their months 21 to 23: 1.75 to 1.917 years */
	{"'printed': '1.92', 'value': 'b - a', 'with': {'a': 'on/mha/day', 'b': 'on/sha/day'}",
		"consistent", NULL, NULL, NULL},
	{"'printed': '1.95', 'value': 'b - a', 'with': {'a': 'on/mha/day', 'b': 'on/sha/day'}",
		"inconsistent", NULL, NULL, NULL},
	{"'printed': '1.74', 'value': 'b - a', 'with': {'a': 'on/mha/day', 'b': 'on/sha/day'}",
		"inconsistent", NULL, NULL, NULL},
	{"'printed': '0', 'rounding': 'truncated', 'value': 'a/b', " AB, "reproduced", NULL, NULL,
		NULL},
	{"'printed': '1', 'value': 'd/mha/none'", "underivable", NULL, NULL, NULL},
	{"'printed': '1', 'value': 'a + none', 'with': {'a': 'd/mha/a', 'none': 'd/mha/none'}",
		"underivable", NULL, NULL, NULL},
	{"'printed': '1', 'underivable': 'not told'", "underivable", NULL, NULL, NULL},
	/* x is 0.45 to 0.55: 0.52 lies inside, where the corners give 0.0009 and 0.0049 */
	{"'printed': '0.0000', 'value': '(x-13/25)^2', 'with': {'x': 'd/mha/x'}", "underivable",
		"0.0004", NULL, NULL},
	{"'printed': '0.0060', 'value': '(x-13/25)^2', 'with': {'x': 'd/mha/x'}", "inconsistent",
		NULL, NULL, NULL},
	{"'printed': '-0.0001', 'value': '(x-13/25)*(x-13/25)', 'with': {'x': 'd/mha/x'}",
		"underivable", NULL, NULL, NULL},
	/* a pole inside: nothing between -20/3 and 20 */
	{"'printed': '3', 'value': '1/(p-q+1/20)', " PQ, "inconsistent", "-20", NULL, NULL},
	{"'printed': '0', 'value': '1/(p-q+1/20)', " PQ, "inconsistent", NULL, NULL, NULL},
	{"'printed': '20', 'value': '1/(p-q+1/20)', " PQ, "consistent", NULL, NULL, NULL},
	/* beside the pole, where no corner and no way leads */
	{"'printed': '-7', 'value': '1/(p-q+1/20)', " PQ, "underivable", NULL, NULL, NULL},
	{"'printed': '1000', 'value': '1/(p-q+1/20)', " PQ, "underivable", NULL, NULL, NULL},
	/* 0.25 is the most, but no search shows that it isn't exceeded */
	{"'printed': '0.25', 'relation': '>', 'value': 'x*(1-x)', 'with': {'x': 'd/mha/x'}",
		"underivable", "0.25", NULL, NULL},
	{"'printed': '0.26', 'value': 'x*(1-x)', 'with': {'x': 'd/mha/x'}", "underivable", NULL,
		NULL, NULL},
	/* a column of the list from corner to corner, but where a datum can be zero */
	{"'printed': '-54', 'value': 't/sha/prr:a'", "consistent", "-50", "-53.8461538461538",
		"-46.3414634146341"},
	{"'printed': '-55', 'value': 't/sha/prr:a'", "inconsistent", "-50", NULL, NULL},
	{"'printed': '20', 'value': 't/sha/prr:z'", "underivable", "0", NULL, NULL},
	/* conditions that are open within the box */
	{"'printed': '7', 'value': 'if(x > 13/25, 7, 3)', 'with': {'x': 'd/mha/x'}", "consistent",
		"3", "3", "7"},
	{"'printed': '5', 'value': 'if(x > 13/25, 7, 3)', 'with': {'x': 'd/mha/x'}", "underivable",
		NULL, NULL, NULL},
	/* nothing is known of the other branch, where its name has no path or no number */
	{"'printed': '0.7', 'value': 'if(1 > 0, x, y)', 'with': {'x': 'd/mha/x'}", "underivable",
		"0.5", "0.45", "0.55"},
	{"'printed': '0.7', 'value': 'if(1 > 0, x, y)', 'with': {'x': 'd/mha/x', 'y': "
	 "'d/mha/none'}",
		"underivable", "0.5", "0.45", "0.55"},
	{"'printed': '0.45', 'value': 'min(x, 1/2)', 'with': {'x': 'd/mha/x'}", "consistent", NULL,
		NULL, NULL},
	/* as sources print */
	{"'printed': '7/2', 'value': 'c/2', 'with': {'c': 'e/mha/count'}", "reproduced", NULL, NULL,
		NULL},
	{"'printed': '10/3', 'value': 'c/2', 'with': {'c': 'e/mha/count'}", "inconsistent", NULL,
		NULL, NULL},
	{"'printed': '~7/2', 'value': '34/10*c/c', 'with': {'c': 'e/mha/count'}", "consistent",
		NULL, NULL, NULL},
	{"'printed': '~7/2', 'value': '33/10*c/c', 'with': {'c': 'e/mha/count'}", "inconsistent",
		NULL, NULL, NULL},
	{"'printed': '7%', 'value': 'e/mha/count'", "reproduced", "7", NULL, NULL},
	{"'printed': '~8', 'value': 'e/mha/count'", "consistent", "7", NULL, NULL},
	{"'printed': '~9', 'value': 'e/mha/count'", "inconsistent", "7", NULL, NULL},
	{"'printed': '7.0M', 'value': '1000000*c', 'with': {'c': 'e/mha/count'}", "reproduced", "7",
		NULL, NULL},
	{"'printed': '7.0 GiB', 'value': '1073741824*c', 'with': {'c': 'e/mha/count'}",
		"reproduced", "7", NULL, NULL},
	{"'printed': '7x', 'value': 'e/mha/count'", "reproduced", "7", NULL, NULL},
	{"'printed': '7.0 \u00b1 0.3', 'value': 'e/mha/count'", "reproduced", "7", NULL, NULL},
	{"'printed': '7.1 (0.3)', 'value': 'e/mha/count'", "inconsistent", "7", NULL, NULL},
	{"'printed': '7e6', 'value': '1000000*c', 'with': {'c': 'e/mha/count'}", "reproduced",
		"7000000", NULL, NULL},
	{"'printed': '7e6', 'value': '1040000*c', 'with': {'c': 'e/mha/count'}", "reproduced",
		"7280000", NULL, NULL},
	{"'printed': '7e6', 'value': '1200000*c', 'with': {'c': 'e/mha/count'}", "inconsistent",
		"8400000", NULL, NULL},
	{"'printed': '7.0e-3', 'value': 'c/1000', 'with': {'c': 'e/mha/count'}", "reproduced",
		"0.007", NULL, NULL},
	{"'printed': '6..8x', 'relation': 'in', 'value': 'e/mha/count'", "reproduced", NULL, NULL,
		NULL},
	/* corners of the box: 1.95*3.5 to 2.05*4.5, 1.95/4.5 to 2.05/3.5 */
	{"'printed': '8', 'value': 'a*b', " AB, "reproduced", "8", "6.825", "9.225"},
	{"'printed': '9', 'value': 'a*b', " AB, "consistent", "8", "6.825", "9.225"},
	{"'printed': '10', 'value': 'a*b', " AB, "inconsistent", "8", "6.825", "9.225"},
	{"'printed': '0.5', 'value': 'a/b', " AB, "reproduced", "0.5", "0.433333333333333",
		"0.585714285714286"},
	/* a negative factor turns the corners over */
	{"'printed': '-2', 'value': 'a*m', 'with': {'a': 'd/mha/a', 'm': 'd/sha/a'}", "reproduced",
		"-2", "-2.1525", "-1.8525"},
	/* a datum that occurs twice is one variable */
	{"'printed': '1', 'value': 'a/a', " AB, "reproduced", "1", "1", "1"},
	{"'printed': '1.01', 'value': 'a/a', " AB, "underivable", "1", "1", "1"},
	{"'printed': '0', 'value': 'a - c', 'with': {'a': 'd/mha/a', 'c': 'd/mha/a'}", "reproduced",
		"0", "0", "0"},
	{"'printed': '0.00', 'value': 'h - a/b', 'with': {'a': 'd/mha/a', 'b': 'd/mha/b', "
	 "'h': 't/mha/half'}",
		"reproduced", "0", "0", "0"},
	/* halves are rounded away from zero: 0.5 is printed as 1, -1.5 as -2 */
	{"'printed': '1', 'value': '1/2*c/c', 'with': {'c': 'e/mha/count'}", "reproduced", "0.5",
		NULL, NULL},
	{"'printed': '-2', 'value': '-3/2*c/c', 'with': {'c': 'e/mha/count'}", "reproduced", "-1.5",
		NULL, NULL},
	/* truncated: 2/3 is printed as 0.66, -2/3 as -0.66 */
	{"'printed': '0.66', 'rounding': 'truncated', 'value': '2/3*c/c', 'with': {'c': "
	 "'e/mha/count'}",
		"reproduced", NULL, NULL, NULL},
	{"'printed': '0.67', 'rounding': 'truncated', 'value': '2/3*c/c', 'with': {'c': "
	 "'e/mha/count'}",
		"inconsistent", NULL, NULL, NULL},
	{"'printed': '-0.66', 'rounding': 'truncated', 'value': '-2/3*c/c', 'with': {'c': "
	 "'e/mha/count'}",
		"reproduced", NULL, NULL, NULL},
	{"'printed': '0.67', 'value': '2/3*c/c', 'with': {'c': 'e/mha/count'}", "reproduced", NULL,
		NULL, NULL},
	{"'printed': '0.66', 'value': '2/3*c/c', 'with': {'c': 'e/mha/count'}", "consistent", NULL,
		NULL, NULL},
	/* truncated 1.9 stands for 1.9 to 2.0: what 2.0 may be rounded from reaches into it */
	{"'printed': '1.9', 'rounding': 'truncated', 'value': 'd/mha/a'", "consistent", NULL, NULL,
		NULL},
	{"'printed': '2.1', 'rounding': 'truncated', 'value': 'd/mha/a'", "inconsistent", NULL,
		NULL, NULL},
	{"'printed': '-1.8', 'rounding': 'truncated', 'value': 'a*m', 'with': {'a': 'd/mha/a', "
	 "'m': 'd/sha/a'}",
		"consistent", "-2", "-2.1525", "-1.8525"},
	{"'printed': '-2.2', 'rounding': 'truncated', 'value': 'a*m', 'with': {'a': 'd/mha/a', "
	 "'m': 'd/sha/a'}",
		"inconsistent", "-2", "-2.1525", "-1.8525"},
	/* about: one unit of the last digit more, 6.5 to 9.5 */
	{"'printed': '8', 'rounding': 'about', 'value': 'e/mha/count'", "consistent", NULL, NULL,
		NULL},
	{"'printed': '9', 'rounding': 'about', 'value': 'e/mha/count'", "inconsistent", NULL, NULL,
		NULL},
	{"'printed': '8', 'approximate': true, 'value': 'e/mha/count'", "consistent", NULL, NULL,
		NULL},
	{"'printed': '8', 'value': 'e/mha/count'", "inconsistent", NULL, NULL, NULL},
	{"'printed': '7', 'rounding': 'about', 'value': 'e/mha/count'", "reproduced", NULL, NULL,
		NULL},
	/* relations: the point, then the farthest end */
	{"'printed': '3', 'relation': '<', 'value': 'd/mha/a'", "reproduced", NULL, NULL, NULL},
	{"'printed': '2.0', 'relation': '<', 'value': 'd/mha/a'", "consistent", NULL, NULL, NULL},
	{"'printed': '1.95', 'relation': '<', 'value': 'd/mha/a'", "inconsistent", NULL, NULL,
		NULL},
	{"'printed': '1.9', 'relation': '>', 'value': 'd/mha/a'", "reproduced", NULL, NULL, NULL},
	{"'printed': '2.04', 'relation': '>', 'value': 'd/mha/a'", "consistent", NULL, NULL, NULL},
	{"'printed': '2.05', 'relation': '>', 'value': 'd/mha/a'", "inconsistent", NULL, NULL,
		NULL},
	{"'printed': '6', 'rounding': 'more-than', 'value': 'e/mha/count'", "reproduced", NULL,
		NULL, NULL},
	{"'printed': '7', 'rounding': 'more-than', 'value': 'e/mha/count'", "inconsistent", NULL,
		NULL, NULL},
	{"'printed': '8', 'rounding': 'less-than', 'value': 'e/mha/count'", "reproduced", NULL,
		NULL, NULL},
	{"'printed': '7', 'rounding': 'less-than', 'value': 'e/mha/count'", "inconsistent", NULL,
		NULL, NULL},
	{"'printed': '6.9..7.1', 'relation': 'in', 'value': 'e/mha/count'", "reproduced", NULL,
		NULL, NULL},
	{"'printed': '7.1..8', 'rounding': 'range', 'value': 'e/mha/count'", "consistent", NULL,
		NULL, NULL},
	{"'printed': '7.1..8.0', 'relation': 'in', 'value': 'e/mha/count'", "inconsistent", NULL,
		NULL, NULL},
	/* a range holds its ends; beyond them, what its ends may have been rounded from */
	{"'printed': '7..8', 'relation': 'in', 'value': 'e/mha/count'", "reproduced", NULL, NULL,
		NULL},
	{"'printed': '6..7', 'relation': 'in', 'value': 'e/mha/count'", "reproduced", NULL, NULL,
		NULL},
	{"'printed': '2.1..3.0', 'relation': 'in', 'value': 'd/mha/a'", "consistent", NULL, NULL,
		NULL},
	{"'printed': '1.0..1.9', 'relation': 'in', 'value': 'd/mha/a'", "consistent", NULL, NULL,
		NULL},
	{"'printed': '2.2..3.0', 'relation': 'in', 'value': 'd/mha/a'", "inconsistent", NULL, NULL,
		NULL},
	{"'printed': '1.0..1.8', 'relation': 'in', 'value': 'd/mha/a'", "inconsistent", NULL, NULL,
		NULL},
	/* the coarser end says how they were rounded: 4 to 6.5 reaches 7 */
	{"'printed': '4..6.5', 'relation': 'in', 'value': 'e/mha/count'", "consistent", NULL, NULL,
		NULL},
	/* as papers print: thousands commas, the minus sign U+2212 */
	{"'printed': '7,000', 'value': '1000*c', 'with': {'c': 'e/mha/count'}", "reproduced", NULL,
		NULL, NULL},
	{"'printed': '\xE2\x88\x92"
	 "1.0', 'value': 'd/sha/a'",
		"reproduced", NULL, NULL, NULL},
	/* sweeps: the measure is the first unless it is named; 4*d_head*d_model*n_heads */
	{"'printed': '32', 'value': 's/mha/n_heads=1,d_head=2'", "reproduced", "32", NULL, NULL},
	{"'printed': '96', 'value': 's/mha/d_head=3,n_heads=2'", "reproduced", "96", NULL, NULL},
	{"'printed': '12', 'value': 's/mha/n_heads=2,d_head=3/cache'", "reproduced", "12", NULL,
		NULL},
	{"'printed': '10', 'value': 's/sha/n_heads=2,d_head=5/cache'", "reproduced", "10", NULL,
		NULL},
	/* polynomials are compared as such, whatever their form; an order by its power */
	{"'printed': '4n^2d^2', 'symbols': {'n': 'n_heads', 'd': 'd_head'}, 'value': "
	 "'t/mha/formula'",
		"reproduced", "4*d_head^2*n_heads^2", NULL, NULL},
	{"'printed': '(4n^2-4n)d^2', 'symbols': {'n': 'n_heads', 'd': 'd_head'}, "
	 "'value': 't/mha/difference'",
		"reproduced", NULL, NULL, NULL},
	{"'printed': '4nd(nd-d)', 'symbols': {'n': 'n_heads', 'd': 'd_head'}, 'value': "
	 "'t/mha/difference'",
		"reproduced", NULL, NULL, NULL},
	{"'printed': '(3n^2-3n)d^2', 'symbols': {'n': 'n_heads', 'd': 'd_head'}, "
	 "'value': 't/mha/difference'",
		"inconsistent", NULL, NULL, NULL},
	{"'printed': 'O(n^2)', 'value': 't/mha/order'", "reproduced", NULL, NULL, NULL},
	{"'printed': 'O(n)', 'value': 't/mha/order'", "inconsistent", NULL, NULL, NULL},
	{"'printed': 'O(n)', 'value': 't/sha/order'", "reproduced", NULL, NULL, NULL},
};

static const struct refusal {
	const char *claim, *message;
} refusals[] = {
	{"'printed': '1', 'value': 'u/mha/total'",
		"t.json:2:12: claim c: unknown table, sweep, data set or question \"u\" (did you "
		"mean "
		"\"t\"?)"},
	{"'printed': '1', 'value': 't/mhb/total'",
		"t.json:2:12: claim c: unknown variant \"mhb\" (did you mean \"mha\"?)"},
	{"'printed': '1', 'value': 't/mha/totals'",
		"t.json:2:12: claim c: table \"t\": unknown column \"totals\" (did you mean "
		"\"total\"?)"},
	{"'printed': '1', 'value': 't/mha'", "t.json:2:12: claim c: expected \"t/ROW/COLUMN\""},
	{"'printed': '1', 'value': 't/a/b/c/d/e'",
		"t.json:2:12: claim c: path \"t/a/b/c/d/e\" has too many parts"},
	{"'printed': '1', 'value': 'd/mha/c'",
		"t.json:2:12: claim c: data set \"d\": unknown column \"c\" (did you mean \"a\"?)"},
	{"'printed': '1', 'value': 'd/a'", "t.json:2:12: claim c: expected \"d/VARIANT/COLUMN\""},
	{"'printed': '1', 'value': 's/mha/n_heads=1'",
		"t.json:2:12: claim c: point \"n_heads=1\", expected a value for each symbol of "
		"sweep "
		"\"s\""},
	{"'printed': '1', 'value': 's/mha/n_heads=1,d_head=x'",
		"t.json:2:12: claim c: point \"n_heads=1,d_head=x\", expected SYMBOL=VALUE"},
	{"'printed': '1', 'value': 's/mha/n_heads=1,d_head=2/cach'",
		"t.json:2:12: claim c: no measure \"cach\""},
	{"'printed': '1', 'value': 'a + q', " AB,
		"t.json:2:12: claim c: column 5: unknown symbol \"q\" (did you mean \"a\"?)"},
	{"'printed': '1', 'value': 'a/(b - b)', " AB,
		"t.json:2:12: claim c: column 2: division by zero in \"a/(b - b)\""},
	{"'printed': 'x', 'value': 'd/mha/a'",
		"t.json:2:12: claim c: printed \"x\" is not a number"},
	{"'printed': '1e', 'value': 'd/mha/a'",
		"t.json:2:12: claim c: printed \"1e\" is not a number"},
	{"'printed': '(', 'value': 't/mha/formula'",
		"t.json:2:12: claim c: column 2: the formula ends, expected a number, a symbol or "
		"\"(\""},
	{"'printed': '1', 'value': 't/mha/score:c'",
		"t.json:2:12: claim c: no data for the metric \"c\""},
	{"'printed': '1', 'value': 'asked/parameters'",
		"t.json:2:12: claim c: nothing here answers the question \"count gpt2\""},
	{"'printed': '1', 'value': 'd/mha/a', 'kind': 'statement'",
		"t.json:2:12: claim c has no number: mark it \"underivable\" and give the reason"},
	{"'printed': '1'", "t.json:2:12: claim c needs either \"value\" or \"underivable\""},
	{"'printed': '1', 'value': 'd/mha/a', 'underivable': 'r'",
		"t.json:2:12: claim c needs either \"value\" or \"underivable\""},
	{"'printed': '1', 'value': 'd/mha/a', 'relation': '=='",
		"t.json:2:72: unknown relation \"==\" (did you mean \"=\"?)"},
	{"'printed': '1', 'value': 'd/mha/a', 'rounding': 'abuot'",
		"t.json:2:72: unknown rounding \"abuot\" (did you mean \"about\"?)"},
	{"'printed': '1', 'value': 'd/mha/a', 'within': '0%'",
		"t.json:2:70: expected a percentage such as \"1%\""},
	{"'printed': '1', 'value': 'd/mha/a', 'within': '%'",
		"t.json:2:70: expected a percentage such as \"1%\""},
	{"'printed': 1, 'value': 'd/mha/a'",
		"t.json:2:35: \"printed\" is a number, expected a string"},
	{"'printed': '1', 'valeu': 'd/mha/a'",
		"t.json:2:49: unknown key \"valeu\" (did you mean \"value\"?)"},
	{"'printed': '1', 'value': 'd/mha/a'}, {'id': 'c', 'printed': '1', 'underivable': 'r'",
		"t.json:2:61: claim c appears twice"},
};

static void write_claim(struct al_text *scenario, const char *claim, const char *rest)
{
	al_text_init(scenario);
	al_text_addf(scenario, HEAD "%s}]%s}", claim, rest);
}

/* Checks one scenario; the message of an error stands in `err`. */
static bool check_text(const char *scenario, struct al_table *table, struct al_check_counts *counts,
	struct al_error *err)
{
	struct al_catalog *catalog = al_catalog_create();
	struct al_scenario *s = NULL;

	*counts = (struct al_check_counts){0};
	al_check_table_init(table);
	bool ok = parse_text(&s, catalog, "", scenario, err)
		&& al_scenario_check(s, table, counts, err);
	al_scenario_destroy(s);
	al_catalog_destroy(catalog);
	return ok;
}

static const char *text_of(struct al_table *table, size_t column)
{
	const struct al_cell *cell = &table->rows[0][column];

	return cell->kind == AL_CELL_EXACT   ? al_exact_text(&table->arena, cell->exact)
		: cell->kind == AL_CELL_TEXT ? cell->text
					     : "";
}

static bool is_as_expected(struct al_table *table, size_t column, const char *expected,
	const char *claim)
{
	if (!expected || strcmp(text_of(table, column), expected) == 0)
		return true;
	print_error("%s\n  %s: found %s, expected %s\n", claim, table->columns[column].key,
		text_of(table, column), expected);
	return false;
}

static void reaches_each_verdict(void **state)
{
	size_t n_wrong = 0;

	(void)state;
	for (size_t i = 0; i < N_OF(verdicts); i++) {
		const struct claim_case *c = &verdicts[i];
		struct al_check_counts counts;
		struct al_text scenario;
		struct al_table table;
		struct al_error err = {0};
		write_claim(&scenario, c->claim, "");
		if (!check_text(scenario.data, &table, &counts, &err)) {
			print_error("%s\n  %s\n", c->claim, err.message);
			n_wrong++;
		} else
			n_wrong += !is_as_expected(&table, P_VERDICT, c->verdict, c->claim)
				|| !is_as_expected(&table, P_VALUE, c->value, c->claim)
				|| !is_as_expected(&table, P_LOW, c->low, c->claim)
				|| !is_as_expected(&table, P_HIGH, c->high, c->claim);
		al_table_finish(&table);
		al_text_finish(&scenario);
	}
	assert_int_equal(n_wrong, 0);
}

static void refuses_what_is_no_claim(void **state)
{
	size_t n_wrong = 0;

	(void)state;
	for (size_t i = 0; i < N_OF(refusals); i++) {
		struct al_check_counts counts;
		struct al_text scenario;
		struct al_table table;
		struct al_error err = {0};
		write_claim(&scenario, refusals[i].claim, "");
		if (check_text(scenario.data, &table, &counts, &err)
			|| strcmp(err.message, refusals[i].message) != 0) {
			print_error("found    %s\nexpected %s\n", err.message, refusals[i].message);
			n_wrong++;
		}
		al_table_finish(&table);
		al_text_finish(&scenario);
	}
	assert_int_equal(n_wrong, 0);
}

/* ---- errata ---- */

static const struct erratum_case {
	const char *claim;
	size_t errata, unlisted, wrong;
	const char *note;
} errata[] = {
	{"'printed': '8', 'value': 'e/mha/count'", 1, 0, 0, "erratum: a slip"},
	{"'printed': '7', 'value': 'e/mha/count'", 0, 0, 1,
		"listed as an erratum, but it is reproduced"},
	{"'printed': '2.05', 'value': 'd/mha/a'", 0, 0, 1,
		"listed as an erratum, but it is consistent"},
	{"'printed': '1', 'value': 'd/mha/none'", 0, 0, 1,
		"listed as an erratum, but it is underivable"},
};

static void counts_errata(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(errata); i++) {
		struct al_check_counts counts;
		struct al_text scenario;
		struct al_table table;
		write_claim(&scenario, errata[i].claim,
			", 'errata': [{'id': 'c', 'reason': 'a slip'}]");
		assert_true(check_text(scenario.data, &table, &counts, NULL));
		assert_int_equal(counts.errata, errata[i].errata);
		assert_int_equal(counts.unlisted, errata[i].unlisted);
		assert_int_equal(counts.wrong_errata, errata[i].wrong);
		assert_string_equal(text_of(&table, P_NOTE), errata[i].note);
		al_table_finish(&table);
		al_text_finish(&scenario);
	}
}

static void counts_what_is_not_listed(void **state)
{
	struct al_check_counts counts;
	struct al_text scenario;
	struct al_table table;

	(void)state;
	write_claim(&scenario, "'printed': '8', 'value': 'e/mha/count'", "");
	assert_true(check_text(scenario.data, &table, &counts, NULL));
	assert_int_equal(counts.unlisted, 1);
	assert_int_equal(counts.verdicts[AL_INCONSISTENT], 1);
	assert_string_equal(text_of(&table, P_NOTE), "found 7.00, printed 8");
	al_table_finish(&table);
	al_text_finish(&scenario);
}

static void refuses_errata_of_nothing(void **state)
{
	struct al_check_counts counts;
	struct al_text scenario;
	struct al_table table;
	struct al_error err;

	(void)state;
	write_claim(&scenario, "'printed': '8', 'value': 'e/mha/count'",
		", 'errata': [{'id': 'x', 'reason': 'r'}]");
	assert_false(check_text(scenario.data, &table, &counts, &err));
	assert_string_equal(err.message,
		"t.json:2:77: erratum of \"x\", which isn't a claim of this file");
	al_table_finish(&table);
	al_text_finish(&scenario);
}

/* ---- kinds ---- */

/* A reading of claim c (7 things) beside it. */
static void write_reading(struct al_text *scenario, const char *printed, const char *reading,
	const char *rest)
{
	struct al_arena arena;

	al_arena_init(&arena);
	write_claim(scenario,
		al_format(&arena, "'printed': '%s', 'value': 'e/mha/count'}, {'id': 'r', %s",
			printed, reading),
		rest);
	al_arena_finish(&arena);
}

/* A number is printed once, however often it is read: it holds if one of its readings does. */
static void counts_printed_numbers_once(void **state)
{
	static const struct {
		const char *printed, *reading, *rest;
		size_t numbers, holding, equalities, errata, unlisted, read_otherwise, wrong;
	} cases[] = {
		{"7", "'kind': 'reading', 'of': 'c', 'printed': '7', 'value': 'd/mha/a'", "", 1, 1,
			1, 0, 0, 1, 0},
		{"2", "'kind': 'reading', 'of': 'c', 'printed': '2', 'value': 'd/mha/a'", "", 1, 1,
			1, 0, 0, 1, 0},
		{"8", "'kind': 'reading', 'of': 'c', 'printed': '8', 'value': 'd/mha/a'", "", 1, 0,
			0, 0, 2, 0, 0},
		{"8", "'kind': 'reading', 'of': 'c', 'printed': '8', 'value': 'd/mha/a'",
			", 'errata': [{'id': 'c', 'reason': 'a slip'}]", 1, 0, 0, 2, 0, 0, 0},
		{"2", "'kind': 'reading', 'of': 'c', 'printed': '2', 'value': 'd/mha/a'",
			", 'errata': [{'id': 'c', 'reason': 'a slip'}]", 1, 1, 1, 0, 0, 1, 1},
		{"7", "'kind': 'repeat', 'printed': '7', 'value': 'e/mha/count'", "", 1, 1, 1, 0, 0,
			0, 0},
		{"7", "'kind': 'derived', 'printed': '8', 'value': 'e/mha/count'", "", 1, 1, 1, 0,
			1, 0, 0},
		{"7",
			"'kind': 'identity', 'printed': '1', 'value': 'a/a', 'with': {'a': "
			"'e/mha/count'}",
			"", 1, 1, 1, 0, 0, 0, 0},
		{"7", "'printed': '7', 'value': 'e/mha/count'", "", 2, 2, 2, 0, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_check_counts counts = {0};
		struct al_text scenario;
		struct al_table table;
		size_t n = 0;
		write_reading(&scenario, cases[i].printed, cases[i].reading, cases[i].rest);
		assert_true(check_text(scenario.data, &table, &counts, NULL));
		for (int v = 0; v < AL_N_VERDICTS; v++)
			n += counts.numbers[v];
		assert_int_equal(n, cases[i].numbers);
		assert_int_equal(counts.numbers[AL_REPRODUCED] + counts.numbers[AL_CONSISTENT],
			cases[i].holding);
		assert_int_equal(counts.equalities, cases[i].equalities);
		assert_int_equal(counts.errata, cases[i].errata);
		assert_int_equal(counts.unlisted, cases[i].unlisted);
		assert_int_equal(counts.read_otherwise, cases[i].read_otherwise);
		assert_int_equal(counts.wrong_errata, cases[i].wrong);
		al_table_finish(&table);
		al_text_finish(&scenario);
	}
}

static void refuses_readings_of_nothing(void **state)
{
	static const struct {
		const char *reading, *rest, *message;
	} cases[] = {
		{"'kind': 'reading', 'printed': '7', 'value': 'e/mha/count'", "",
			"claim r: readings, and only readings, need \"of\""},
		{"'of': 'c', 'printed': '7', 'value': 'e/mha/count'", "",
			"claim r: readings, and only readings, need \"of\""},
		{"'kind': 'reading', 'of': 'x', 'printed': '7', 'value': 'e/mha/count'", "",
			"claim r reads \"x\", which isn't a claim of this file, or is itself a "
			"reading"},
		{"'kind': 'reading', 'of': 'r', 'printed': '7', 'value': 'e/mha/count'", "",
			"claim r reads \"r\", which isn't a claim of this file, or is itself a "
			"reading"},
		{"'kind': 'reading', 'of': 'c', 'printed': '7', 'value': 'e/mha/count'",
			", 'errata': [{'id': 'r', 'reason': 'a slip'}]",
			"erratum of \"r\", which is a reading of \"c\""},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_check_counts counts = {0};
		struct al_error err = {0};
		struct al_text scenario;
		struct al_table table;
		write_reading(&scenario, "7", cases[i].reading, cases[i].rest);
		assert_false(check_text(scenario.data, &table, &counts, &err));
		assert_string_equal(strstr(err.message, ": ") + 2, cases[i].message);
		al_table_finish(&table);
		al_text_finish(&scenario);
	}
}

/* ---- many data ---- */

/* The sum of n data, each 1 with half a unit around it. */
static void write_sum(struct al_text *scenario, int n)
{
	al_text_init(scenario);
	al_text_add(scenario, "{'title': 't', 'data': [{'id': 'd', 'columns': [");
	for (int i = 0; i < n; i++)
		al_text_addf(scenario, "%s'c%c'", i ? ", " : "", 'a' + i);
	al_text_add(scenario, "], 'rows': [[");
	for (int i = 0; i < n; i++)
		al_text_addf(scenario, "%s'1'", i ? ", " : "");
	al_text_add(scenario, "]]}],\n'claims': [{'id': 'c', 'printed': '1', 'with': {");
	for (int i = 0; i < n; i++)
		al_text_addf(scenario, "%s'c%c': 'd/c%c'", i ? ", " : "", 'a' + i, 'a' + i);
	al_text_add(scenario, "}, 'value': '");
	for (int i = 0; i < n; i++)
		al_text_addf(scenario, "%sc%c", i ? " + " : "", 'a' + i);
	al_text_add(scenario, "'}]}");
}

static void visits_the_corners_of_sixteen_data(void **state)
{
	struct al_check_counts counts;
	struct al_text scenario;
	struct al_table table;
	struct al_error err;

	(void)state;
	write_sum(&scenario, 16);
	assert_true(check_text(scenario.data, &table, &counts, &err));
	assert_string_equal(text_of(&table, P_VALUE), "16");
	assert_string_equal(text_of(&table, P_LOW), "8");
	assert_string_equal(text_of(&table, P_HIGH), "24");
	al_table_finish(&table);
	al_text_finish(&scenario);

	write_sum(&scenario, 17);
	assert_false(check_text(scenario.data, &table, &counts, &err));
	assert_string_equal(err.message, "t.json:2:12: claim c: the value uses more than 16 data");
	al_table_finish(&table);
	al_text_finish(&scenario);
}

/* 2.0 of 1.95 to 2.05 would be printed as nothing else but 2.1 too (2.05 is the end of both); the
 * exact 7 as 7 alone; a range and a polynomial aren't counted. */
static void counts_what_would_hold_otherwise(void **state)
{
	static const struct {
		const char *claim;
		size_t equalities, indifferent;
	} cases[] = {
		{"'printed': '2.0', 'value': 'd/mha/a'", 1, 1},
		{"'printed': '2.00', 'value': 'd/mha/a'", 1, 1},
		{"'printed': '2', 'value': 'd/mha/a'", 1, 0},
		{"'printed': '7', 'value': 'e/mha/count'", 1, 0},
		{"'printed': '8', 'rounding': 'about', 'value': 'e/mha/count'", 1, 0},
		{"'printed': '6', 'rounding': 'about', 'value': 'e/mha/count'", 1, 1},
		{"'printed': '7/2', 'value': 'c/2', 'with': {'c': 'e/mha/count'}", 1, 0},
		{"'printed': '8', 'value': 'e/mha/count'", 0, 0},
		{"'printed': '6..8', 'relation': 'in', 'value': 'e/mha/count'", 0, 0},
		{"'printed': '6', 'relation': '>', 'value': 'e/mha/count'", 0, 0},
		{"'printed': 'O(n^2)', 'value': 't/mha/order'", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_check_counts counts = {0};
		struct al_error err = {0};
		struct al_text scenario;
		struct al_table table;
		write_claim(&scenario, cases[i].claim, "");
		if (!check_text(scenario.data, &table, &counts, &err))
			fail_msg("%s: %s", cases[i].claim, err.message);
		if (counts.equalities != cases[i].equalities
			|| counts.indifferent != cases[i].indifferent)
			fail_msg("%s: %zu of %zu", cases[i].claim, counts.indifferent,
				counts.equalities);
		al_table_finish(&table);
		al_text_finish(&scenario);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reaches_each_verdict),
		cmocka_unit_test(refuses_what_is_no_claim),
		cmocka_unit_test(counts_what_would_hold_otherwise),
		cmocka_unit_test(counts_errata),
		cmocka_unit_test(counts_what_is_not_listed),
		cmocka_unit_test(refuses_errata_of_nothing),
		cmocka_unit_test(counts_printed_numbers_once),
		cmocka_unit_test(refuses_readings_of_nothing),
		cmocka_unit_test(visits_the_corners_of_sixteen_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
