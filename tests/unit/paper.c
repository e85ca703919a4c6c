/* Papers: what their text, tables, maps and running numbers are read as. */
#include "paper/deriving.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "unit.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

/* "a|b\nc|d": the cells of all tables. */
static void add_tables(const struct al_paper *paper, struct al_text *out)
{
	for (size_t i = 0; i < paper->n_tables; i++)
		for (size_t row = 0; row < paper->tables[i].n_rows; row++) {
			const struct al_paper_row *r = &paper->tables[i].rows[row];
			al_text_addf(out, "%zu", paper->lines[r->line - 1].number);
			for (size_t k = 0; k < r->n_cells; k++)
				al_text_addf(out, "|%s", r->cells[k]);
			al_text_add(out, "\n");
		}
}

static const struct reading {
	const char *what, *file, *text, *cells;
} readings[] = {
	{"tabs", "a.txt", "x\na\tb\t\nc\t$d^2$\n\ty\n", "2|a|b|\n3|c|d^2\n4||y\n"},
	{"one line with a tab is no table", "a.txt", "a\tb\nc\n", ""},
	{"a run that ends", "a.txt", "a\tb\r\nc\td\r\n\r\ne\tf\ng\th",
		"1|a|b\n2|c|d\n4|e|f\n5|g|h\n"},
	{"bars", "a.md", "| a | **b** |\n|--|:-:|\n| c\\|d | <b>1</b> |\n", "1|a|b\n3|c|d|1\n"},
	{"bars of a text are none", "a.txt", "| a | b |\n| c | d |\n", ""},
	{"tabular", "a.tex",
		"\\begin{tabular}[t]{l@{}r}\n\\toprule\na & \\textbf{1} \\\\\n"
		"% x & y \\\\\n\\multicolumn{2}{c}{b \\& c} \\\\[2pt] \\midrule\n"
		"d &\n {$2_{\\pm 0.1}$}\\\\\n\\bottomrule\n\\end{tabular}",
		"3|a|1\n5|b & c|\n6|d|2\u00b1 0.1\n"},
	{"tabular*", "a.tex", "\\begin{tabular*}{\\linewidth}{lr}a&b\\\\c&50\\%\\end{tabular*}",
		"1|a|b\n1|c|50%\n"},
	{"two tabulars", "a.tex",
		"\\begin{tabular}{l}a\\end{tabular} and \\begin{tabular}{l}b\\\\\\end{tabular}",
		"1|a\n1|b\n"},
	{"a tabular that never ends", "a.tex", "x\n y \\begin{tabular}{l}a & b",
		"a.tex:2:4: the tabular never ends"},
	{"a tabular* at a paper's end", "a.tex", "x\\begin{tabular*}",
		"a.tex:1:2: the tabular never ends"},
	{"a tabularx whose width is a paper's end", "a.tex", "x\\begin{tabularx}{\\linewidth}\n",
		"a.tex:1:2: the tabular never ends"},
	{"a brace in what LaTeX does not read", "a.tex",
		"\\begin{verbatim}\n}}}\n\\end{verbatim}\n\\}\\{ % }\n", ""},

	{"a brace that closes nothing", "a.tex", "a{b}\n }\n", "a.tex:2:2: \"}\" closes nothing"},
	{"a brace that is never closed", "a.tex", "a\n\\textbf{b\n",
		"a.tex:2:8: \"{\" is never closed"},
	{"one of the first line", "a.tex", "{b\n", "a.tex:1:1: \"{\" is never closed"},
	{"no UTF-8", "a.md", "a\nb\xC3\n", "a.md:2:2: byte 0xC3 is not text in UTF-8"},
};

static void reads_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(readings); i++) {
		const struct reading *r = &readings[i];
		struct al_error err = {0};
		struct al_paper paper;
		struct al_text found;
		al_text_init(&found);
		if (al_paper_parse(&paper, r->file, r->text, strlen(r->text), &err)) {
			add_tables(&paper, &found);
			al_paper_finish(&paper);
		} else
			al_text_add(&found, err.message);
		if (strcmp(found.data, r->cells) != 0)
			fail_msg("%s: found\n%s\nexpected\n%s", r->what, found.data, r->cells);
		al_text_finish(&found);
	}
}

static void refuses_a_nul(void **state)
{
	struct al_error err = {0};
	struct al_paper paper;

	(void)state;
	assert_false(al_paper_parse(&paper, "a.txt", "a\0b", 3, &err));
	assert_string_equal(err.message, "a.txt:1:2: byte 0x00 is not text in UTF-8");
}

static const struct {
	const char *what, *text, *message;
} maps[] = {
	{"an unknown key", "{\"tables\": [], \"modle\": \"x\"}",
		"m:1:25: unknown key \"modle\" (did you mean \"model\"?)"},
	{"a table that is none", "{\"tables\": [{\"table\": 0, \"columns\": []}]}",
		"m:1:23: found 0, expected 1 or more"},
	{"a symbol that is missing", "{\"tables\": [{\"table\": 1, \"columns\": [\"set\"]}]}",
		"m:1:38: expected \"set:SYMBOL\""},
	{"brackets of no score", "{\"tables\": [{\"table\": 1, \"columns\": [\"prr(peop)\"]}]}",
		"m:1:38: only scores can have a number in brackets"},
	{"no tables", "{}", "m:1:1: key \"tables\" is missing"},
};

static void refuses_maps(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(maps); i++) {
		struct al_paper_map map;
		struct al_error err = {0};
		if (al_paper_map_parse(&map, "m", maps[i].text, strlen(maps[i].text), &err))
			fail_msg("%s is no map", maps[i].what);
		assert_string_equal(err.message, maps[i].message);
	}
}

/* A label of the paper, unlike a key of our own, may be called so. */
static void takes_a_label_note(void **state)
{
	static const char text[] = "{\"scenario\": \"a.json\", \"names\": {\"note\": \"mha\"}}";
	struct al_paper_map map;
	struct al_error err = {0};

	(void)state;
	if (!al_paper_map_parse(&map, "m", text, strlen(text), &err))
		fail_msg("%s", err.message);
	assert_int_equal(map.n_names, 1);
	assert_string_equal(map.names[0].label,
		"NOTE"); /* in the form in which labels are compared */
	al_paper_map_finish(&map);
}

/* "LINE PRINTED VERDICT" of each ratio and percentage that is read. */
static const struct {
	const char *file, *text, *found;
} relations[] = {
	{"a.md", "It falls from 28.3M to 8.9M, a 3.2x reduction.", "1 3.2x reproduced\n"},
	{"a.md", "It falls from 28.3M\nto 8.9M,\na 4.2x reduction.", "3 4.2x inconsistent\n"},
	{"a.tex", "from $28.3$M to $8.9$M, a $3.2\\times$ % 4.2x\nreduction",
		"1 3.2x reproduced\n"},
	{"a.md", "It reduces heads by 37.5 % from 8 to 5.", "1 37.5 % reproduced\n"},
	{"a.md", "47.5 % fewer (5 instead of 8).", "1 47.5 % inconsistent\n"},
	{"a.md", "5x fewer parameters: 36,864 instead of 147,456", "1 5x inconsistent\n"},
	{"a.md", "Memory grows from 16 GiB to 24 GiB, 50 % less.", "1 50 % inconsistent\n"},
	{"a.md", "from 64 to 16 GB, 4x less; from 12.6M to 3.2M, 3.9x",
		"1 4x reproduced\n1 3.9x reproduced\n"},
	{"a.md", "from 3M to 1M, 2.5x less", "1 2.5x consistent\n"}, /* 2.5 / 1.5 to 3.5 / 0.5 */
	{"a.md", "From 8 heads to 6, a quarter fewer.", "1 quarter reproduced\n"},
	{"a.md", "From 8 heads to 4, a quarter fewer.", "1 quarter inconsistent\n"},
	{"a.md", "Accuracy rises from 71.2 to 72.4, 1.2 % higher.", "1 1.2 % consistent\n"},
	{"a.md", "Accuracy rises from 71.2 to 72.4, 2.7 % higher.", "1 2.7 % inconsistent\n"},
	{"a.md", "more than 82% of its heads (36 out of 44)", "1 82% reproduced\n"},
	{"a.md", "47 % of the heads (three out of eight)", "1 47 % inconsistent\n"},
	{"a.md", "It needs 4 GB (weights) + 0.75 GB (cache) + 1.5 GB, about 6.25 GB.",
		"1 6.25 GB reproduced\n"},
	{"a.md", "It needs 4 + 0.75 + 1.5 + 0.1 GB, approximately 4.35 GB.",
		"1 4.35 GB inconsistent\n"},
	{"a.md", "We have 8 heads of 64 + 2 = 99 numbers.", ""},
	{"a.md", "Of 2 + 6 layers, about 75 layers are left.", ""},
	{"a.md", "from 80 to 60 (25 %)", "1 25 % reproduced\n"},
	/* what could be of something else is not read */
	{"a.md", "from 80 to 60 (35 %)", ""},
	{"a.md", "from 4 to 2 and from 8 to 2, a 2x reduction", ""},
	{"a.md", "from 12 ms to 3 ms, 1.5x faster", ""},
	{"a.md", "from 0 to 5, 3x more", ""},
	{"a.md", "from 0.0 to 5.0, 3x more", ""},
	{"a.md", "from 12 to 3 in Table 2, where 90 % fewer are used", ""},
	{"a.md", "from GPT-2 to GPT-3, 100x larger", ""},
	{"a.md", "from 12 GB to 3M, 7x less", ""},
	{"a.md", "from 12\n\nto 3, 7x less", ""},
};

static void reads_relations(void **state)
{
	struct al_paper_subjects no_models = {0};
	struct al_arena words;
	struct al_error error = {0};

	(void)state;
	al_arena_init(&words);
	if (!al_paper_vocabulary_read(&no_models.vocabulary, &words, &error))
		fail_msg("%s", error.message);
	for (size_t i = 0; i < N_OF(relations); i++) {
		struct al_paper_findings found = {0};
		struct al_lint_counts counts = {0};
		struct al_error err = {0};
		struct al_paper paper;
		struct al_text told;
		al_text_init(&told);
		if (!al_paper_parse(&paper, relations[i].file, relations[i].text,
			    strlen(relations[i].text), &err))
			fail_msg("%s", err.message);
		found.arena = &paper.arena;
		const struct al_deriving deriving = {.paper = &paper,
			.arena = &paper.arena,
			.out = &found,
			.counts = &counts};
		al_paper_read_sentences(&deriving, &no_models);
		for (size_t k = 0; k < found.n; k++)
			al_text_addf(&told, "%zu %s %s\n", found.items[k].line,
				found.items[k].printed,
				found.items[k].verdict ? found.items[k].verdict : "");
		if (strcmp(told.data ? told.data : "", relations[i].found) != 0)
			fail_msg("\"%s\": found \"%s\"", relations[i].text, told.data);
		al_text_finish(&told);
		al_paper_finish(&paper);
	}
	al_arena_finish(&words);
}

static const struct {
	const char *head;
	enum al_meaning meaning;
	int size;
} heads[] = {
	{"KV cache (GiB)", AL_MEANS_CACHE, 0},
	{"KV cache (KB/token)", AL_MEANS_CACHE_OF_TOKEN, 0},
	{"KV cache per token (KiB)", AL_MEANS_CACHE_OF_TOKEN, 0},
	{"KV-cache size", AL_MEANS_CACHE, 0},
	{"KV cache reduction", AL_MEANS_NOTHING, 0},
	{"KV cache per layer", AL_MEANS_NOTHING, 0},
	{"Peak memory", AL_MEANS_NOTHING, 0},
	{"#Params (B)", AL_MEANS_TOTAL, AL_TOTAL_PARAMETERS},
	{"Active params", AL_MEANS_TOTAL, AL_TOTAL_ACTIVE},
	{"Attention params", AL_MEANS_NOTHING, 0},
	{"KV heads", AL_MEANS_SIZE, AL_DIM_KV_HEADS},
	{"Seq. length", AL_MEANS_CONTEXT, 0},
};

static void knows_heads(void **state)
{
	struct al_paper_vocabulary vocabulary;
	struct al_error err = {0};
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	if (!al_paper_vocabulary_read(&vocabulary, &arena, &err))
		fail_msg("%s", err.message);
	for (size_t i = 0; i < N_OF(heads); i++) {
		const struct al_paper_heads *found = al_paper_meaning(&vocabulary, &arena,
			heads[i].head);
		if (found->meaning != heads[i].meaning || found->size != heads[i].size)
			fail_msg("%s means something else", heads[i].head);
	}
	al_arena_finish(&arena);
}

/* The facts of a caption: a number needs its noun. */
static const struct {
	const char *caption;
	double tokens, batch, bytes;
} captions[] = {
	{"KV cache at 8K context, BF16, batch size 4.", 8192, 4, 2},
	{"Cache of 4,096 tokens in FP8.", 4096, 0, 1},
	{"Sequence length of 2048 (fp16).", 2048, 0, 2},
	{"On 8 GPUs, of 70B models, Table 3.", 0, 0, 0},
	{"Context 32K and 128K.", 131072, 0, 0}, /* several: none is the table's */
};

static void reads_captions(void **state)
{
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	for (size_t i = 0; i < N_OF(captions); i++) {
		struct al_paper_facts facts;
		al_paper_read_facts(captions[i].caption, true, &facts);
		if (facts.tokens != captions[i].tokens || facts.batch != captions[i].batch
			|| facts.bytes != captions[i].bytes)
			fail_msg("%s: %g tokens, batch %g, %g bytes", captions[i].caption,
				facts.tokens, facts.batch, facts.bytes);
	}
	al_arena_finish(&arena);
}

static const struct {
	const char *printed, *unit, *cause;
	double value, right, half;
	int digits;
} causes[] = {
	{"1.00", "GB", "unit", 1, 1.0737, 0.005, 2},
	{"1.07", "GiB", "unit", 1.07, 1, 0.005, 2},
	{"2.68", "GB", "truncation", 2.68, 2.6878, 0.005, 2},
	{"0.50", "GiB", "half", 0.5, 1, 0.005, 2},
	{"2.00", "GiB", "twice", 2, 1, 0.005, 2},
	{"10.0", "GiB", "point", 10, 1, 0.05, 1},
	{"4.31", "GiB", "digit", 4.31, 4.21, 0.005, 2},
	{"4.12", "GiB", "digit", 4.12, 4.21, 0.005, 2},
	{"5.77", "GiB", NULL, 5.77, 4.21, 0.005, 2},
};

static void finds_causes(void **state)
{
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	for (size_t i = 0; i < N_OF(causes); i++) {
		const struct al_paper_suspect suspect = {.printed = causes[i].printed,
			.value = causes[i].value,
			.right = causes[i].right,
			.half = causes[i].half,
			.digits = causes[i].digits,
			.unit = causes[i].unit,
			.is_bytes = true,
			.is_of_cache = true};
		const char *found = al_paper_find_cause(&arena, &suspect).name;
		const char *expected = causes[i].cause ? causes[i].cause : "none";
		if (strcmp(found ? found : "none", expected) != 0)
			fail_msg("%s: %s", causes[i].printed, found ? found : "none");
	}
	assert_string_equal(al_paper_instead(&arena, "~1,234 MB", 4321.4, 0), "~4,321 MB");
	al_arena_finish(&arena);
}

static void knows_a_slip(void **state)
{
	(void)state;
	assert_true(al_paper_is_slip("19.87", "18.87"));
	assert_true(al_paper_is_slip("81.87", "18.87"));
	assert_true(al_paper_is_slip("14,155,767", "14,155,776"));
	assert_false(al_paper_is_slip("18.87", "18.87"));
	assert_false(al_paper_is_slip("19.88", "18.87"));
	assert_false(al_paper_is_slip("188.7", "18.87"));
	assert_false(al_paper_is_slip("8.87", "18.87"));
}

/* In prose: the same number, a slip for one number, a number near to two, one without a unit. */
static void reads_prose(void **state)
{
	static const char text[] = "Of 18.87M and 19.87M,\n12.58M is near two, 18.87 has no unit;\n"
				   "14,155,767 and Table 12.58M.1, 85,3701.2.34567 ran together.\n";
	static const struct al_paper_truth truths[] = {
		{"18.87", "18.87", "M", "18.874368", false},
		{"12.57", "12.57", "M", "12.57", false},
		{"12.59", "12.59", "M", "12.59", false},
		{"14,155,776", "14,155,776", "", "14155776", false},
	};
	struct al_lint_counts counts = {0};
	struct al_paper paper;
	struct al_arena arena;
	struct al_paper_findings found = {.arena = &arena};

	(void)state;
	assert_true(al_paper_parse(&paper, "a.txt", text, strlen(text), NULL));
	al_arena_init(&arena);
	al_paper_read_prose(&paper, truths, N_OF(truths), &found, &counts);
	assert_int_equal(counts.in_prose, 1);
	assert_int_equal(counts.slips, 2);
	assert_int_equal(counts.gaps, 1);
	assert_int_equal(found.n, 3);
	assert_int_equal(found.items[0].line, 1);
	assert_string_equal(found.items[0].printed, "19.87M");
	assert_string_equal(found.items[0].note, "erratum? a slip for 18.87M");
	assert_string_equal(found.items[1].printed, "14,155,767");
	assert_int_equal(found.items[2].line, 3);
	assert_null(found.items[2].verdict);
	al_arena_finish(&arena);
	al_paper_finish(&paper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_tables),
		cmocka_unit_test(refuses_a_nul),
		cmocka_unit_test(refuses_maps),
		cmocka_unit_test(takes_a_label_note),
		cmocka_unit_test(knows_heads),
		cmocka_unit_test(reads_captions),
		cmocka_unit_test(finds_causes),
		cmocka_unit_test(knows_a_slip),
		cmocka_unit_test(reads_relations),
		cmocka_unit_test(reads_prose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
