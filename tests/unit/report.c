/* Writers: each against the exact text of one table that has everything, and what people read in a
 * cell. */
#include "unit.h"

#include <math.h>

#include "base/number.h"
#include "base/json.h"
#include "report/latex_grid.h"
#include "report/numbers.h"
#include "report/report.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct al_style plain_style = {.units = AL_UNITS_EXACT};

/* Sets a cell to a printed decimal and its spread (NULL: none). */
static void set_decimal(struct al_table *table, struct al_cell *cell, const char *value,
	const char *spread)
{
	mpq_t q;
	int digits;

	mpq_init(q);
	assert_true(al_exact_parse(value, q, &digits));
	al_cell_set_exact(table, cell, q);
	if (spread) {
		assert_true(al_exact_parse(spread, q, &digits));
		cell->spread = al_exact_copy(&table->arena, q);
	}
	mpq_clear(q);
}

/* Groups, missing cells, characters that every format escapes, spreads, integers above 2^53. */
static void build(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "variant", .digits = AL_DIGITS_ALL, .is_key = true},
		{.key = "weights",
			.title = "Weights",
			.unit = "B",
			.scale = "MiB",
			.group = "Memory & cache",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
		{.key = "cache",
			.title = "Cache",
			.unit = "B",
			.group = "Memory & cache",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
		{.key = "score:glue", .title = "Acc_1", .group = "GLUE", .digits = 1},
		{.key = "saving", .title = "Saving", .unit = "%", .digits = 2},
		{.key = "note", .digits = AL_DIGITS_ALL},
	};
	struct al_cell *row;

	al_table_init(table, "table_1", "Costs of W_O, 100% | exact");
	for (size_t i = 0; i < COUNT(columns); i++)
		al_table_add_column(table, columns[i]);

	row = al_table_add_row(table);
	al_cell_set_text(table, &row[0], "mha");
	set_decimal(table, &row[1], "14155776", NULL);
	set_decimal(table, &row[2], "36893488147419103233", NULL);
	set_decimal(table, &row[3], "80.5", "0.3");
	row[3].is_best = true;
	al_cell_set_text(table, &row[5], "a*b, \"c\" | <d>");

	row = al_table_add_row(table);
	al_cell_set_text(table, &row[0], "mhe_mul");
	set_decimal(table, &row[1], "100", NULL);
	set_decimal(table, &row[3], "79.96", NULL);
	set_decimal(table, &row[4], "-0.805", NULL);
	al_cell_set_latex(table, &row[5], "n^2", "$n^2$");

	al_table_note(table, "basis: output_projection=none, #1 [x]");
}

static void check_written(const char *format, const struct al_style *style,
	const struct al_table *const *tables, size_t n_tables, const char *expected)
{
	const struct al_writer *writer;
	struct al_text out;

	al_text_init(&out);
	assert_true(al_writer_find(format, &writer, NULL));
	al_write(writer, style, tables, n_tables, &out);
	assert_string_equal(out.data, expected);
	al_text_finish(&out);
}

static void check_table(const char *format, const struct al_style *style, const char *expected)
{
	struct al_table table;

	build(&table);
	check_written(format, style, (const struct al_table *const[]){&table}, 1, expected);
	al_table_finish(&table);
}

static void writes_text(void **state)
{
	(void)state;
	check_table("text", &plain_style,
		"Costs of W_O, 100% | exact\n"
		"\n"
		"                      Memory & cache                   GLUE\n"
		"         -----------------------------------------  ----------\n"
		"variant  Weights (MiB)               Cache (bytes)       Acc_1  Saving (%)  note\n"
		"-------  -------------  --------------------------  ----------  ----------  "
		"--------------\n"
		"mha              13.50  36,893,488,147,419,103,233  80.5 (0.3)           -  a*b, "
		"\"c\" | <d>\n"
		"mhe_mul           0.00                           -        80.0       -0.81  n^2\n"
		"\n"
		"basis: output_projection=none, #1 [x]\n");
}

static void folds_text_at_the_width(void **state)
{
	(void)state;
	check_table("text", &(struct al_style){.units = AL_UNITS_EXACT, .width = 80},
		"Costs of W_O, 100% | exact\n"
		"\n"
		"                      Memory & cache                   GLUE\n"
		"         -----------------------------------------  ----------\n"
		"variant  Weights (MiB)               Cache (bytes)       Acc_1  Saving (%)\n"
		"-------  -------------  --------------------------  ----------  ----------\n"
		"mha              13.50  36,893,488,147,419,103,233  80.5 (0.3)           -\n"
		"mhe_mul           0.00                           -        80.0       -0.81\n"
		"\n"
		"variant  note\n"
		"-------  --------------\n"
		"mha      a*b, \"c\" | <d>\n"
		"mhe_mul  n^2\n"
		"\n"
		"basis: output_projection=none, #1 [x]\n");
}

static void writes_json(void **state)
{
	(void)state;
	check_table("json", &(struct al_style){.command = "count"},
		"{\n"
		"  \"attnledger\": \"" AL_VERSION "\",\n"
		"  \"command\": \"count\",\n"
		"  \"tables\": [\n"
		"    {\n"
		"      \"id\": \"table_1\",\n"
		"      \"title\": \"Costs of W_O, 100% | exact\",\n"
		"      \"columns\": [\n"
		"        {\"key\": \"variant\", \"title\": \"variant\", \"unit\": \"\"},\n"
		"        {\"key\": \"weights\", \"title\": \"Weights\", \"unit\": \"B\"},\n"
		"        {\"key\": \"cache\", \"title\": \"Cache\", \"unit\": \"B\"},\n"
		"        {\"key\": \"score:glue\", \"title\": \"Acc_1\", \"unit\": \"\"},\n"
		"        {\"key\": \"score:glue_spread\", \"title\": \"Acc_1 (standard "
		"deviation)\", "
		"\"unit\": \"\"},\n"
		"        {\"key\": \"saving\", \"title\": \"Saving\", \"unit\": \"%\"},\n"
		"        {\"key\": \"note\", \"title\": \"note\", \"unit\": \"\"}\n"
		"      ],\n"
		"      \"rows\": [\n"
		"        {\"variant\": \"mha\", \"weights\": 14155776, \"cache\": "
		"36893488147419103233, "
		"\"score:glue\": 80.5, \"score:glue_spread\": 0.3, \"saving\": null, \"note\": "
		"\"a*b, \\\"c\\\" | <d>\"},\n"
		"        {\"variant\": \"mhe_mul\", \"weights\": 100, \"cache\": null, "
		"\"score:glue\": 79.96, \"score:glue_spread\": null, \"saving\": -0.805, \"note\": "
		"\"n^2\"}\n"
		"      ],\n"
		"      \"totals\": [],\n"
		"      \"notes\": [\n"
		"        \"basis: output_projection=none, #1 [x]\"\n"
		"      ]\n"
		"    }\n"
		"  ]\n"
		"}\n");
}

static void writes_csv(void **state)
{
	(void)state;
	check_table("csv", &plain_style,
		"variant,weights,cache,score:glue,score:glue_spread,saving,note\n"
		"mha,14155776,36893488147419103233,80.5,0.3,,\"a*b, \"\"c\"\" | <d>\"\n"
		"mhe_mul,100,,79.96,,-0.805,n^2\n");
}

static void writes_latex(void **state)
{
	(void)state;
	check_table("latex", &plain_style,
		"\\begin{table}\n"
		"\\centering\n"
		"\\caption{Costs of $W_O$, 100\\% \\textbar{} exact}\n"
		"\\label{tab:table-1}\n"
		"\\smallskip\n"
		"\\begin{tabular}{lrrrrl}\n"
		"\\toprule\n"
		" & \\multicolumn{2}{c}{Memory \\& cache} & \\multicolumn{1}{c}{GLUE} &  &  \\\\\n"
		"\\cmidrule(lr){2-3}\\cmidrule(lr){4-4}\n"
		"variant & Weights (MiB) & Cache (bytes) & Acc\\_1 & Saving (\\%) & note \\\\\n"
		"\\midrule\n"
		"mha & 13.50 & 36,893,488,147,419,103,233 & \\textbf{80.5 (0.3)} & -- & "
		"a{*}b, {\\char34}c{\\char34} \\textbar{} \\textless{}d\\textgreater{} \\\\\n"
		"mhe\\_mul & 0.00 & -- & 80.0 & $-$0.81 & $n^2$ \\\\\n"
		"\\bottomrule\n"
		"\\end{tabular}\n"
		"\n"
		"\\smallskip\n"
		"\\begin{minipage}{\\linewidth}\\footnotesize\n"
		"basis: output\\_projection=none, \\#1 {[}x{]}\\par\n"
		"\\end{minipage}\n"
		"\\end{table}\n");
}

static void writes_markdown(void **state)
{
	(void)state;
	check_table("markdown", &plain_style,
		"### Costs of W_O, 100% \\| exact\n"
		"\n"
		"| variant | Memory & cache: Weights (MiB) | Memory & cache: Cache (bytes) | "
		"GLUE: Acc_1 | Saving (%) | note |\n"
		"|:--|--:|--:|--:|--:|:--|\n"
		"| mha | 13.50 | 36,893,488,147,419,103,233 | 80.5 (0.3) | - | a\\*b, \"c\" \\| "
		"\\<d\\> |\n"
		"| mhe_mul | 0.00 | - | 80.0 | -0.81 | n^2 |\n"
		"\n"
		"* basis: output_projection=none, #1 \\[x\\]\n");
}

/* One column: its first cell says what is asked, its second is missing. */
static void build_small(struct al_table *table, const char *id, const char *text)
{
	al_table_init(table, id, "");
	al_table_add_column(table, (struct al_column){.key = "name", .is_key = true});
	al_cell_set_text(table, al_table_add_row(table), text);
	al_table_add_row(table);
}

static void check_two(const char *format, const char *expected)
{
	struct al_table first, second;

	build_small(&first, "one", "#1\n");
	build_small(&second, "two", " caf\u00e9");
	const struct al_table *const tables[] = {&first, &second};
	check_written(format, &plain_style, tables, 2, expected);
	al_table_finish(&first);
	al_table_finish(&second);
}

static void writes_several_tables(void **state)
{
	(void)state;
	check_two("text",
		"name\n"
		"------\n"
		"#1\\x0a\n"
		"-\n"
		"\n"
		"name\n"
		"-----\n"
		" caf\u00e9\n"
		"-\n");
	check_two("json",
		"{\n"
		"  \"attnledger\": \"" AL_VERSION "\",\n"
		"  \"tables\": [\n"
		"    {\n"
		"      \"id\": \"one\",\n"
		"      \"title\": \"\",\n"
		"      \"columns\": [\n"
		"        {\"key\": \"name\", \"title\": \"name\", \"unit\": \"\"}\n"
		"      ],\n"
		"      \"rows\": [\n"
		"        {\"name\": \"#1\\u000a\"},\n"
		"        {\"name\": null}\n"
		"      ],\n"
		"      \"totals\": [],\n"
		"      \"notes\": []\n"
		"    },\n"
		"    {\n"
		"      \"id\": \"two\",\n"
		"      \"title\": \"\",\n"
		"      \"columns\": [\n"
		"        {\"key\": \"name\", \"title\": \"name\", \"unit\": \"\"}\n"
		"      ],\n"
		"      \"rows\": [\n"
		"        {\"name\": \" caf\u00e9\"},\n"
		"        {\"name\": null}\n"
		"      ],\n"
		"      \"totals\": [],\n"
		"      \"notes\": []\n"
		"    }\n"
		"  ]\n"
		"}\n");
}

/* A name from a stranger's file, with control characters, one that turns the direction of the line
 * (U+202E), and a byte that isn't UTF-8: whatever the format, nothing of them reaches a terminal.
 * CSV keeps a tab as it is. */
static void no_writer_lets_control_characters_through(void **state)
{
	static const char name[] = "\033[31m \302\23331m \a\r\177 \342\200\256 \377 \303";

	(void)state;
	for (size_t i = 0; al_writers[i]; i++) {
		struct al_table table;
		const struct al_table *const tables[] = {&table};
		struct al_text text;
		build_small(&table, "id", name);
		al_table_note(&table, "%s", name);
		al_text_init(&text);
		al_write(al_writers[i], &plain_style, tables, 1, &text);
		for (const char *p = text.data; *p;) {
			struct al_character c = al_character_at(p);
			if (*p != '\n' && !c.is_printable)
				fail_msg("%s: %s", al_writers[i]->name, text.data);
			p += c.bytes;
		}
		al_text_finish(&text);
		al_table_finish(&table);
	}
}

/* What a spreadsheet would run is marked as text; tabs and quotes stay. */
static void csv_keeps_names_as_text(void **state)
{
	static const char *const names[][2] = {
		{"=1+1", "'=1+1"},
		{"+a", "'+a"},
		{"-a,b", "\"'-a,b\""},
		{"@a", "'@a"},
		{"\t=a", "\"'\t=a\""},
		{"a=b", "a=b"},
		{"-3.5e2", "-3.5e2"},
		{"-2*d_head^2 + 1", "-2*d_head^2 + 1"},
		{"-2+cmd|' /C calc'!A0", "'-2+cmd|' /C calc'!A0"},
		{"-", "-"},
		{"a\tb", "\"a\tb\""},
		{"a\"b", "\"a\"\"b\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct al_table table;
		const struct al_table *const tables[] = {&table};
		char expected[64];
		build_small(&table, "id", names[i][0]);
		snprintf(expected, sizeof(expected), "name\n%s\n\"\"\n", names[i][1]);
		check_written("csv", &plain_style, tables, 1, expected);
		al_table_finish(&table);
	}
}

static void csv_keeps_formulas(void **state)
{
	struct al_table table;
	const struct al_table *const tables[] = {&table};

	(void)state;
	al_table_init(&table, "id", "title");
	al_table_add_column(&table, (struct al_column){.key = "difference", .title = "Difference"});
	al_cell_set_latex(&table, al_table_add_row(&table), "-d_head", "$-d_h$");
	check_written("csv", &plain_style, tables, 1, "difference\n-d_head\n");
	al_table_finish(&table);
}

static void json_says_what_is_no_utf8(void **state)
{
	struct al_text text;

	(void)state;
	al_text_init(&text);
	al_json_quote(&text, "a\377\303(\303\251\\\"\342\200\256\n");
	assert_string_equal(text.data, "\"a\\\\xff\\\\xc3(\303\251\\\\\\\"\\u202e\\u000a\"");
	al_text_finish(&text);
}

/* People read a cell's title, scripts its text. */
static void writes_titles_for_people(void **state)
{
	static const struct {
		const char *format, *expected;
	} cases[] = {
		{"text", "name\n-------\nMHE-MUL\n"},
		{"csv", "name\nmhe-mul\n"},
		{"markdown", "| name |\n|:--|\n| MHE-MUL |\n"},
	};
	struct al_table table;
	const struct al_table *const tables[] = {&table};

	(void)state;
	al_table_init(&table, "titled", "");
	al_table_add_column(&table, (struct al_column){.key = "name", .is_key = true});
	al_cell_set_titled(&table, al_table_add_row(&table), "mhe-mul", "MHE-MUL");
	for (size_t i = 0; i < COUNT(cases); i++)
		check_written(cases[i].format, &plain_style, tables, 1, cases[i].expected);
	al_table_finish(&table);
}

static void writes_bold_headings_in_color(void **state)
{
	(void)state;
	check_table("text", &(struct al_style){.units = AL_UNITS_EXACT, .width = 40, .color = true},
		"\033[1mCosts of W_O, 100% | exact\033[0m\n"
		"\n"
		"\033[1m         Memory & cache\n"
		"         --------------\n"
		"variant   Weights (MiB)\033[0m\n"
		"-------  --------------\n"
		"mha               13.50\n"
		"mhe_mul            0.00\n"
		"\n"
		"\033[1m               Memory & cache\n"
		"         --------------------------\n"
		"variant               Cache (bytes)\033[0m\n"
		"-------  --------------------------\n"
		"mha      36,893,488,147,419,103,233\n"
		"mhe_mul                           -\n"
		"\n"
		"\033[1m            GLUE\n"
		"         ----------\n"
		"variant       Acc_1  Saving (%)\033[0m\n"
		"-------  ----------  ----------\n"
		"mha      80.5 (0.3)           -\n"
		"mhe_mul        80.0       -0.81\n"
		"\n"
		"\033[1mvariant  note\033[0m\n"
		"-------  --------------\n"
		"mha      a*b, \"c\" | <d>\n"
		"mhe_mul  n^2\n"
		"\n"
		"basis: output_projection=none, #1 [x]\n");
}

static const struct reading {
	const char *value, *displayed, *head;
	struct al_column column;
	enum al_units units;
} readings[] = {
#define BYTES .unit = "B", .quantity = AL_QUANTITY_BYTES
#define FLOPS .unit = "FLOP", .quantity = AL_QUANTITY_FLOPS
#define COUNTED .quantity = AL_QUANTITY_COUNT
#define ALL .digits = AL_DIGITS_ALL
	/* as it is */
	{"14155776", "14,155,776", "x", {COUNTED, ALL}, AL_UNITS_DEFAULT},
	{"14155776", "14,155,776", "x (bytes)", {BYTES}, AL_UNITS_DEFAULT},
	{"14155776", "14155776", "x (bytes)", {BYTES}, AL_UNITS_RAW},
	{"1024.25", "1,024.3", "x", {.digits = 1}, AL_UNITS_DEFAULT},
	{"1024.25", "1024.3", "x", {.digits = 1}, AL_UNITS_RAW},
	{"-44.8351", "-44.84", "x (%)", {.unit = "%", ALL}, AL_UNITS_DEFAULT},
	{"1.23456", "1.235", "x", {ALL}, AL_UNITS_DEFAULT},
	{"0.0123456", "0.01235", "x", {ALL}, AL_UNITS_DEFAULT},
	{"0.5", "0.5", "x", {ALL}, AL_UNITS_DEFAULT},
	{"0.99999", "1", "x", {ALL}, AL_UNITS_DEFAULT},
	{"0.0000000012345", "1.234e-09", "x", {ALL}, AL_UNITS_DEFAULT},
	/* a fixed scale */
	{"28311552", "28.31", "x (M)", {.scale = "M", COUNTED, ALL}, AL_UNITS_IEC},
	{"28311552", "28", "x (M)", {.scale = "M", COUNTED}, AL_UNITS_RAW},
	{"43486543872", "43.5", "x (B)", {.scale = "B", COUNTED, .digits = 1}, AL_UNITS_DEFAULT},
	{"14155776", "13.50", "x (MiB)", {.scale = "MiB", BYTES, ALL}, AL_UNITS_DEFAULT},
	{"14155776", "14.2", "x (MB)", {.scale = "MB", BYTES, .digits = 1}, AL_UNITS_IEC},
	{"2199023255552", "2", "x (TiB)", {.scale = "TiB", BYTES}, AL_UNITS_DEFAULT},
	{"2500000000000", "2.5", "x (TB)", {.scale = "TB", BYTES, .digits = 1}, AL_UNITS_DEFAULT},
	{"14155776", "14.16", "x (M bytes)", {.scale = "M", BYTES, ALL}, AL_UNITS_DEFAULT},
	{"14155776", "14,155.78", "x (k bytes)", {.scale = "k", BYTES, ALL}, AL_UNITS_DEFAULT},
	{"14155776", "14,155,776", "x (bytes)", {.scale = "B", BYTES, ALL}, AL_UNITS_SI},
	{"2500000000", "2.50", "x (GFLOP)", {.scale = "GFLOP", FLOPS, ALL}, AL_UNITS_DEFAULT},
	{"28311552", "28,311,552", "x (tokens)", {.scale = "tokens", COUNTED, ALL}, AL_UNITS_SI},
	{"72.35", "72.35", "x (MB)", {.scale = "MB", ALL}, AL_UNITS_DEFAULT},
	/* each cell on its own */
	{"28311552", "28.31M", "x", {COUNTED, ALL}, AL_UNITS_SI},
	{"28311552", "28.3M", "x", {COUNTED, .digits = 1}, AL_UNITS_IEC},
	{"999999", "1.00M", "x", {COUNTED}, AL_UNITS_SI},
	{"999994", "999.99k", "x", {COUNTED}, AL_UNITS_SI},
	{"999", "999", "x", {COUNTED}, AL_UNITS_SI},
	{"1234567000000000", "1,234.57T", "x", {COUNTED}, AL_UNITS_SI},
	{"14155776", "13.50 MiB", "x", {BYTES, ALL}, AL_UNITS_IEC},
	{"-14155776", "-14.16 MB", "x", {BYTES, ALL}, AL_UNITS_SI},
	{"2500000000000", "2.50 TB", "x", {BYTES, ALL}, AL_UNITS_SI},
	{"2500000000000000", "2.50 PB", "x", {BYTES, ALL}, AL_UNITS_SI},
	{"2199023255552", "2.00 TiB", "x", {BYTES, ALL}, AL_UNITS_IEC},
	{"2251799813685248", "2.00 PiB", "x", {BYTES, ALL}, AL_UNITS_IEC},
	{"1023", "1,023 B", "x", {BYTES, ALL}, AL_UNITS_IEC},
	{"1048575", "1.00 MiB", "x", {BYTES, ALL}, AL_UNITS_IEC},
	{"1047552", "1,023.00 KiB", "x", {BYTES, ALL}, AL_UNITS_IEC},
	{"281474976710655", "256.00 TiB", "x", {BYTES, ALL}, AL_UNITS_IEC},
	{"281474976710656", "256.00 TiB", "x", {BYTES, ALL}, AL_UNITS_IEC},
	{"1054", "1.029 KiB", "x", {BYTES, .digits = 3}, AL_UNITS_IEC},
	{"1054", "1.0293 KiB", "x", {BYTES, .digits = 4}, AL_UNITS_IEC},
	{"1005", "1.01k", "x", {COUNTED}, AL_UNITS_SI},
	{"2500000000", "2.50 GFLOP", "x", {FLOPS, ALL}, AL_UNITS_IEC},
	{"0", "0 B", "x", {BYTES, ALL}, AL_UNITS_SI},
	{"4096", "4,096", "x", {ALL}, AL_UNITS_SI},
	{"14155776", "13.50 MiB", "x", {BYTES, ALL}, AL_UNITS_READABLE},
	{"2500000000", "2.50 GFLOP", "x", {FLOPS, ALL}, AL_UNITS_READABLE},
	{"28311552", "28,311,552", "x", {COUNTED, ALL}, AL_UNITS_READABLE},
	{"14155776", "14,155,776", "x (bytes)", {BYTES, ALL}, AL_UNITS_EXACT},
	/* a title that says it already */
	{"1", "1", "tokens", {.title = "tokens", .unit = "tokens", ALL}, AL_UNITS_DEFAULT},
	{"1", "1", "Memory (MB)", {.title = "Memory (MB)", .scale = "MB", ALL}, AL_UNITS_DEFAULT},
	{"1", "1", "Memory (MB) (B)", {.title = "Memory (MB)", .unit = "B", ALL}, AL_UNITS_DEFAULT},
};

static void displays_numbers_as_people_read_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(readings); i++) {
		const struct reading *r = &readings[i];
		struct al_style style = {.units = r->units};
		struct al_column column = r->column;
		struct al_table table;

		column.key = "x";
		al_table_init(&table, "t", "");
		al_table_add_column(&table, column);
		struct al_cell *cell = al_table_add_row(&table);
		set_decimal(&table, cell, r->value, NULL);
		const char *displayed = al_cell_display(&table.arena, &style, table.columns, cell);
		const char *head = al_column_head(&table.arena, &style, table.columns);
		assert_string_equal(displayed, r->displayed);
		assert_string_equal(head, r->head);
		al_table_finish(&table);
	}
}

static void displays_reals(void **state)
{
	static const struct {
		double value;
		const char *displayed, *csv, *json;
	} reals[] = {
		{0.1, "0.1", "x\n0.1\n", "0.1"},
		{1.0 / 3, "0.3333", "x\n0.3333333333333333\n", "0.3333333333333333"},
		{-0.0, "0", "x\n-0\n", "-0"},
		{1e15, "1e+15", "x\n1e+15\n", "1e+15"},
		{1e300, "1e+300", "x\n1e+300\n", "1e+300"},
		{2.5e-9, "2.5e-09", "x\n2.5e-09\n", "2.5e-09"},
		{NAN, "-", "x\n\"\"\n", "null"},
		{-INFINITY, "-inf", "x\n-inf\n", "null"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(reals); i++) {
		const struct al_column column = {.key = "x", .digits = AL_DIGITS_ALL};
		struct al_table table;
		struct al_text json;

		al_table_init(&table, "t", "");
		al_table_add_column(&table, column);
		struct al_cell *cell = al_table_add_row(&table);
		al_cell_set_real(cell, reals[i].value);
		const char *displayed = al_cell_display(&table.arena, &plain_style, &column, cell);
		assert_string_equal(displayed, reals[i].displayed);
		const struct al_table *const tables[] = {&table};
		check_written("csv", &plain_style, tables, 1, reals[i].csv);
		al_text_init(&json);
		al_write(al_writers[1], &plain_style, tables, 1, &json);
		const char *row = al_format(&table.arena, "{\"x\": %s}", reals[i].json);
		assert_non_null(strstr(json.data, row));
		al_text_finish(&json);
		al_table_finish(&table);
	}
}

/* No input makes a writer fail: no table, no column, no row; every answer of the JSON writer is
 * strict JSON. */
static void writes_what_is_empty(void **state)
{
	struct al_table tables[4];
	const struct al_table *const list[] = {&tables[0], &tables[1], &tables[2], &tables[3]};

	(void)state;
	al_table_init(&tables[0], "empty", "");
	al_table_init(&tables[1], "columns", "No row");
	al_table_add_column(&tables[1],
		(struct al_column){.key = "a\"b", .group = "g", .is_key = true});
	al_table_init(&tables[2], "rows", "No column");
	al_table_add_row(&tables[2]);
	build(&tables[3]);
	for (const struct al_writer *const *w = al_writers; *w; w++) {
		for (size_t n = 0; n <= COUNT(list); n++) {
			struct al_style style = {.width = 1};
			struct al_error err;
			struct al_json doc;
			struct al_text out;

			al_text_init(&out);
			al_write(*w, &style, list, n, &out);
			assert_true(out.length == 0 || out.data[out.length - 1] == '\n');
			if (strcmp((*w)->name, "json") == 0) {
				assert_true(al_json_parse(&doc, "out", out.data, out.length, &err));
				al_json_finish(&doc);
			}
			al_text_finish(&out);
		}
	}
	for (size_t i = 0; i < COUNT(tables); i++)
		al_table_finish(&tables[i]);
}

/* A heading wider than its columns widens them; notes break between words; keys alone are never
 * folded away. */
static void lays_out_narrow_text(void **state)
{
	struct al_table table;

	(void)state;
	al_table_init(&table, "t", "");
	al_table_add_column(&table, (struct al_column){.key = "n", .is_key = true});
	al_table_add_column(&table, (struct al_column){.key = "a", .group = "a long heading"});
	al_table_add_column(&table, (struct al_column){.key = "b", .group = "a long heading"});
	struct al_cell *row = al_table_add_row(&table);
	al_cell_set_int(&table, &row[0], 1);
	al_cell_set_int(&table, &row[1], -2);
	al_cell_set_int(&table, &row[2], 3);
	al_table_note(&table, "one two three four five");
	const struct al_table *const tables[] = {&table};
	check_written("text", &(struct al_style){.width = 17}, tables, 1,
		"   a long heading\n"
		"   --------------\n"
		"n        a      b\n"
		"-  -------  -----\n"
		"1       -2      3\n"
		"\n"
		"one two three\n"
		"  four five\n");
	al_table_finish(&table);
}

static void finds_writers(void **state)
{
	static const char *const found[][2] = {
		{"text", "text"},
		{"txt", "text"},
		{"json", "json"},
		{"csv", "csv"},
		{"latex", "latex"},
		{"tex", "latex"},
		{"markdown", "markdown"},
		{"md", "markdown"},
	};
	const struct al_writer *writer;
	struct al_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(found); i++) {
		char path[64];
		assert_true(al_writer_find(found[i][0], &writer, &err));
		assert_string_equal(writer->name, found[i][1]);
		snprintf(path, sizeof(path), "out.d/table.1.%s", found[i][0]);
		assert_true(al_writer_for_file(path, &writer, &err));
		assert_string_equal(writer->name, found[i][1]);
	}
	assert_false(al_writer_find("latx", &writer, &err));
	assert_int_equal(err.status, AL_EINPUT);
	assert_string_equal(err.message, "unknown format \"latx\" (did you mean \"latex\"?)");
	assert_false(al_writer_for_file("a/b.cvs", &writer, &err));
	assert_string_equal(err.message,
		"a/b.cvs: unknown extension \"cvs\" (did you mean \"csv\"?)");
	assert_false(al_writer_for_file("out.d/table", &writer, &err));
	assert_string_equal(err.message,
		"out.d/table: unknown extension; use .txt, .json, .csv, .tex or .md");
}

/* A line over a sum, bytes as people read them, and a source on a line of its own. */
static void marks_totals_and_sources(void **state)
{
	static const struct al_column columns[] = {
		{.key = "part", .is_key = true},
		{.key = "bytes",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
	};
	struct al_table table;

	(void)state;
	al_table_init(&table, "t", "");
	al_table_add_columns(&table, columns, 2);
	for (int i = 1; i <= 5; i++) {
		struct al_cell *row = al_table_add_row(&table);
		const bool is_total = i == 3 || i == 5;
		al_cell_set_text(&table, &row[0], is_total ? "total" : "cache");
		al_cell_set_int(&table, &row[1], 1536);
		if (is_total)
			al_table_mark_total(&table);
	}
	al_table_note(&table, "recipe: zero (Rajbhandari et al. (2020))");
	al_table_note(&table, "one (two) three");
	al_table_note(&table, "123456789 123456789 1234567890 (source)");
	al_table_note(&table, "two sides, the left and the right :)");
	const struct al_table *const tables[] = {&table};
	check_written("text", &(struct al_style){.width = 30}, tables, 1,
		"part      bytes\n"
		"-----  --------\n"
		"cache  1.50 KiB\n"
		"cache  1.50 KiB\n"
		"       --------\n"
		"total  1.50 KiB\n"
		"cache  1.50 KiB\n"
		"total  1.50 KiB\n"
		"\n"
		"recipe: zero\n"
		"  (Rajbhandari et al. (2020))\n"
		"one (two) three\n"
		"123456789 123456789 1234567890\n"
		"  (source)\n"
		"two sides, the left and the\n"
		"  right :)\n");
	al_table_finish(&table);
}

/* A last column of long texts stands under each row where the others fit. */
static void sets_long_texts_under_their_rows(void **state)
{
	struct al_table table;

	(void)state;
	al_table_init(&table, "t", "");
	al_table_add_column(&table, (struct al_column){.key = "name", .is_key = true});
	al_table_add_column(&table, (struct al_column){.key = "title"});
	al_table_add_column(&table, (struct al_column){.key = "source"});
	for (int i = 0; i < 2; i++) {
		struct al_cell *row = al_table_add_row(&table);
		al_cell_set_text(&table, &row[0], i ? "b" : "a");
		al_cell_set_text(&table, &row[1],
			i ? "short" : "a title too long for one line of it");
		al_cell_set_text(&table, &row[2], "Somebody et al. 2020, section 3");
	}
	const struct al_table *const tables[] = {&table};
	check_written("text", &(struct al_style){.width = 30}, tables, 1,
		"name  title\n"
		"    source\n"
		"----  ------------------------\n"
		"a     a title too long for one\n"
		"      line of it\n"
		"    Somebody et al. 2020,\n"
		"    section 3\n"
		"b     short\n"
		"    Somebody et al. 2020,\n"
		"    section 3\n");
	/* a broken column has 20 columns at least */
	check_written("text", &(struct al_style){.width = 26}, tables, 1,
		"name  title\n"
		"    source\n"
		"----  --------------------\n"
		"a     a title too long for\n"
		"      one line of it\n"
		"    Somebody et al. 2020,\n"
		"    section 3\n"
		"b     short\n"
		"    Somebody et al. 2020,\n"
		"    section 3\n");
	check_written("text", &(struct al_style){.width = 25}, tables, 1,
		"name  title\n"
		"----  -----------------------------------\n"
		"a     a title too long for one line of it\n"
		"b     short\n"
		"\n"
		"name  source\n"
		"----  -------------------------------\n"
		"a     Somebody et al. 2020, section 3\n"
		"b     Somebody et al. 2020, section 3\n");
	al_table_finish(&table);
}

/* ---- numbers in LaTeX ---- */

/* Rows of a number with its spread and marks, in each of the forms; the last is missing. */
static void build_spreads(struct al_table *table, enum al_spread_form form)
{
	al_table_init(table, "t", "");
	al_table_add_column(table, (struct al_column){.key = "name", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "x", .quantity = AL_QUANTITY_COUNT, .digits = 2});
	table->spread_form = form;
	for (int i = 0; i < 6; i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_text(table, &row[0], (char[]){(char)('a' + i), '\0'});
		if (i == 5)
			break;
		set_decimal(table, &row[1], i == 4 ? "12345.5" : "-1234.5",
			i == 4		 ? NULL
				: i == 3 ? "1000.25"
					 : "0.3");
		row[1].is_best = i == 1 || i == 3;
		row[1].is_second = i > 1;
		row[1].mark = i == 2 ? "ab" : i == 3 ? "cd" : NULL;
	}
}

static void sets_spreads_in_latex(void **state)
{
	static const struct {
		enum al_spread_form form;
		const char *type, *cells[6];
	} forms[] = {
		{AL_SPREAD_BRACKETS, "r",
			{"$-$1,234.50 (0.30)", "\\textbf{$-$1,234.50 (0.30)}",
				"\\underline{$-$1,234.50 (0.30)}$^{ab}$",
				"\\textbf{$-$1,234.50 (1,000.25)}$^{cd}$", "\\underline{12,345.50}",
				"--"}},
		{AL_SPREAD_SUBSCRIPT, "r",
			{"$-1{,}234.50_{\\pm 0.30}$", "$\\mathbf{-1{,}234.50}_{\\pm 0.30}$",
				"$\\underline{-1{,}234.50}^{ab}_{\\pm 0.30}$",
				"$\\mathbf{-1{,}234.50}^{cd}_{\\pm 1{,}000.25}$",
				"\\underline{12,345.50}", "--"}},
		{AL_SPREAD_PLUS_MINUS, "r",
			{"$-1{,}234.50 \\pm 0.30$", "$\\mathbf{-1{,}234.50 \\pm 0.30}$",
				"$\\underline{-1{,}234.50^{ab} \\pm 0.30}$",
				"$\\mathbf{-1{,}234.50^{cd} \\pm 1{,}000.25}$",
				"\\underline{12,345.50}", "--"}},
		{AL_SPREAD_SIUNITX,
			"S[separate-uncertainty,table-align-uncertainty=false,detect-weight,"
			"table-format=5.2(6),table-space-text-post={$^{ab}$}]",
			{"-1234.50 \\pm 0.30", "\\bfseries -1234.50 \\pm 0.30",
				"{\\underline{$-1234.50 \\pm 0.30$}}$^{ab}$",
				"\\bfseries -1234.50 \\pm 1000.25$^{cd}$",
				"{\\underline{$12345.50$}}", "{--}"}},
		{AL_SPREAD_NONE, "r",
			{"$-$1,234.50", "\\textbf{$-$1,234.50}", "\\underline{$-$1,234.50}$^{ab}$",
				"\\textbf{$-$1,234.50}$^{cd}$", "\\underline{12,345.50}", "--"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		struct al_latex_grid grid;
		struct al_table table;
		build_spreads(&table, forms[i].form);
		al_latex_grid_init(&grid, &table.arena, &(struct al_style){0}, &table);
		assert_string_equal(grid.columns[1].spec, forms[i].type);
		for (size_t row = 0; row < 6; row++)
			assert_string_equal(grid.rows[row][1], forms[i].cells[row]);
		al_table_finish(&table);
	}
}

/* A number has its column's unit, in LaTeX and JSON; a row is called by all that names it. */
static void lists_numbers_with_their_units(void **state)
{
	static const struct al_column columns[] = {
		{.key = "name", .is_key = true},
		{.key = "layer", .is_key = true},
		{.key = "count", .quantity = AL_QUANTITY_COUNT, .scale = "k"},
		{.key = "bytes", .quantity = AL_QUANTITY_BYTES, .unit = "B"},
		{.key = "memory", .quantity = AL_QUANTITY_BYTES, .unit = "B", .scale = "B"},
		{.key = "share", .unit = "%", .digits = 1},
		{.key = "length", .unit = "tokens"},
		{.key = "plain"},
		{.key = "real", .digits = 2},
		{.key = "formula"},
	};
	struct al_numbers numbers;
	struct al_table table;

	(void)state;
	al_table_init(&table, "t", "");
	al_table_add_columns(&table, columns, COUNT(columns));
	struct al_cell *row = al_table_add_row(&table);
	al_cell_set_text(&table, &row[0], "");
	al_cell_set_int(&table, &row[1], 3);
	for (int i = 2; i < 8; i++)
		al_cell_set_int(&table, &row[i], 7000);
	al_cell_set_real(&row[8], -0.125);
	al_cell_set_latex(&table, &row[9], "2*n", "cost \\$ $2 n$");
	row[7].is_best = true;
	row[7].mark = "*";
	row = al_table_add_row(&table);
	al_cell_set_text(&table, &row[0], "50%");
	al_cell_set_int(&table, &row[7], 1);
	al_cell_set_real(&row[8], NAN);
	al_cell_set_text(&table, &row[9], "no number");
	al_numbers_begin(&numbers, "a\nb");
	const size_t begun = numbers.latex.length;
	al_numbers_add(&numbers, &table);
	al_numbers_end(&numbers);
#define DEFINED(key, text) "\\expandafter\\def\\csname ledger@t/3/" key "\\endcsname{" text "}\n"
	assert_string_equal(numbers.latex.data + begun,
		DEFINED("count", "7k") DEFINED("bytes", "7,000~bytes") DEFINED("memory", "7,000~B")
			DEFINED("share", "7,000.0\\%") DEFINED("length", "7,000~tokens")
				DEFINED("plain", "7,000") DEFINED("real", "\\ensuremath{-}0.13")
					DEFINED("formula", "cost \\$ \\ensuremath{2 n}"));
	assert_string_equal(numbers.json.data,
		"{\n  \"title\": \"a\\u000ab\",\n  \"numbers\": {\n"
		"    \"t/3/count\": {\"value\": 7000, \"text\": \"7k\"},\n"
		"    \"t/3/bytes\": {\"value\": 7000, \"text\": \"7,000 bytes\"},\n"
		"    \"t/3/memory\": {\"value\": 7000, \"text\": \"7,000 B\"},\n"
		"    \"t/3/share\": {\"value\": 7000, \"text\": \"7,000.0%\"},\n"
		"    \"t/3/length\": {\"value\": 7000, \"text\": \"7,000 tokens\"},\n"
		"    \"t/3/plain\": {\"value\": 7000, \"text\": \"7,000\"},\n"
		"    \"t/3/real\": {\"value\": -0.125, \"text\": \"-0.13\"},\n"
		"    \"t/50%/plain\": {\"value\": 1, \"text\": \"1\"}\n"
		"  }\n}\n");
	al_numbers_finish(&numbers);
	al_numbers_begin(&numbers, "");
	al_numbers_end(&numbers);
	assert_string_equal(numbers.json.data, "{\n  \"title\": \"\",\n  \"numbers\": {}\n}\n");
	al_numbers_finish(&numbers);
	al_table_finish(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_text),
		cmocka_unit_test(folds_text_at_the_width),
		cmocka_unit_test(writes_json),
		cmocka_unit_test(writes_csv),
		cmocka_unit_test(writes_latex),
		cmocka_unit_test(writes_markdown),
		cmocka_unit_test(writes_several_tables),
		cmocka_unit_test(writes_titles_for_people),
		cmocka_unit_test(no_writer_lets_control_characters_through),
		cmocka_unit_test(csv_keeps_names_as_text),
		cmocka_unit_test(csv_keeps_formulas),
		cmocka_unit_test(json_says_what_is_no_utf8),
		cmocka_unit_test(writes_bold_headings_in_color),
		cmocka_unit_test(displays_numbers_as_people_read_them),
		cmocka_unit_test(displays_reals),
		cmocka_unit_test(writes_what_is_empty),
		cmocka_unit_test(lays_out_narrow_text),
		cmocka_unit_test(marks_totals_and_sources),
		cmocka_unit_test(sets_long_texts_under_their_rows),
		cmocka_unit_test(finds_writers),
		cmocka_unit_test(sets_spreads_in_latex),
		cmocka_unit_test(lists_numbers_with_their_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
