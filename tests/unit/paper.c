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
	{"a byte-order mark", "a.txt",
		"\xEF\xBB\xBF"
		"a\tb\nc\td\n",
		"1|a|b\n2|c|d\n"},
	{"bars", "a.md", "| a | **b** |\n|--|:-:|\n| c\\|d | <b>1</b> |\n", "1|a|b\n3|c|d|1\n"},
	{"bars of a text are none", "a.txt", "| a | b |\n| c | d |\n", ""},
	{"tabular", "a.tex",
		"\\begin{tabular}[t]{l@{}r}\n\\toprule\na & \\textbf{1} \\\\\n"
		"% x & y \\\\\n\\multicolumn{2}{c}{b \\& c} \\\\[2pt] \\midrule\n"
		"d &\n {$2_{\\pm 0.1}$}\\\\\n\\bottomrule\n\\end{tabular}",
		"3|a|1\n5|b & c|\n6|d|2\u00b1 0.1\n"},
	{"tabular*", "a.tex", "\\begin{tabular*}{\\linewidth}{lr}a&b\\\\c&50\\%\\end{tabular*}",
		"1|a|b\n1|c|50%\n"},
	{"macros whose first arguments no reader sees", "a.tex",
		"\\begin{tabular}{l}\n"
		"\\cite[o]{u}{1} & \\citep[o]{u}{2} & \\citet[o]{u}{3} & "
		"\\citealp[o]{u}{4} & \\begin[o]{u}{5} & \\end[o]{u}{6} & "
		"\\ref[o]{u}{7} & \\eqref[o]{u}{8} & \\cref[o]{u}{9} & "
		"\\Cref[o]{u}{10} & \\autoref[o]{u}{11} & \\href[o]{u}{12} & "
		"\\url[o]{u}{13} & \\footnotemark[o]{14} & \\textcolor[o]{u}{15} & "
		"\\color[o]{u}{16} & \\colorbox[o]{u}{17} & \\fcolorbox[o]{u}{u}{18} & "
		"\\cellcolor[o]{u}{19} & \\fontsize[o]{u}{u}{20} & "
		"\\setlength[o]{u}{u}{21} & \\addtolength[o]{u}{u}{22} & "
		"\\rule[o]{u}{u}{23} & \\includegraphics[o]{u}{24} & "
		"\\rotatebox[o]{u}{25} & \\raisebox[o]{u}{26} & \\hspace[o]{u}{27} & "
		"\\resizebox[o]{u}{u}{28} & \\scalebox[o]{u}{29} & "
		"\\adjustbox[o]{u}{30} & \\parbox[o]{u}{31} & \\ding[o]{u}{32} & "
		"\\phantom[o]{u}{33} & \\hphantom[o]{u}{34} & \\tnote[o]{u}{35} & "
		"\\makecell{36} & \\makebox[o]{37} & \\SetCell[o]{u}{38} & "
		"\\SetRow[o]{u}{39} & \\shortstack{40} & \\num[o]{41} & \\qty[o]{42} & "
		"\\SI[o]{43}"
		"\\\\\n\\end{tabular}",
		"2|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23|24|25|26|27|28|29|"
		"30|31|32|33|34|35|36|37|38|39|40|41|42|43\n"},
	{"rules and what else is no cell's text", "a.tex",
		"\\begin{tabular}{l}\n"
		"\\toprule{1} & \\midrule{2} & \\bottomrule{3} & \\botrule{4} & "
		"\\hline{5} & \\hdashline{6} & \\specialrule[o]{u}{u}{u}{7} & "
		"\\cmidrule[o]{u}{8} & \\cline[o]{u}{9} & \\label[o]{u}{10} & "
		"\\vspace[o]{u}{11} & \\addlinespace{12} & \\noalign[o]{u}{13} & "
		"\\rowcolor[o]{u}{14} & \\arrayrulecolor[o]{u}{15} & "
		"\\caption[o]{u}{16} & \\centering{17}"
		"\\\\\n\\end{tabular}",
		"2|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17\n"},
	{"signs and units of macros", "a.tex",
		"\\begin{tabular}{l}\n1\\times2 & 3\\cdot4 & 5\\pm6 & \\sim7 & \\simeq8 & "
		"\\approx9 & "
		"1\\,000 & 2\\;3 & 4\\ 5 & 6~7 & ~8 & (~9 & 12\\,tok/s & 5\\percent & \\#1 & a\\_b "
		"& "
		"\\SI{1}{\\kibi\\byte} & \\SI{2}{\\mebi\\byte} & \\qty{3}{\\gibi\\byte} & "
		"\\qty{4}{\\tebi\\byte} & \\SI{5}{\\kilo\\byte} & \\SI{6}{\\mega\\byte} & "
		"\\SI{7}{\\giga\\byte} & \\SI{8}{\\tera\\byte} & \\SI{9}{\\milli\\second} & "
		"\\SI{1}{\\micro\\second} & a\\textsuperscript{2} & b\\textsubscript{3} & "
		"\\frac{16}{3.1} & 2\\alpha & \\Delta x & 3\\to4 & 1{,}024 & a---b\\\\\n"
		"\\end{tabular}",
		"2|1x2|3x4|5\u00b16|~7|~8|~9|1000|2 3|4 5|6 7|~8|(~9|12 tok/s|5%|#1|a_b|1KiB|2MiB|"
		"3GiB|4TiB|5kB|6MB|7GB|8TB|9ms|1us|a^2|b_3|((16)/(3.1))|2alpha|Delta  x|"
		"3\u21924|1,024|a \u2014 b\n"},
	{"tables in a cell, and what isn't ended", "a.tex",
		"\\begin{tabular}{l}\na & \\begin{tabular}{c}1 & 2\\end{tabular} "
		"\\tabularnewline[2pt]\n"
		"b & 3 \\\\*[1ex]\nc & 4\\\\\\end{tabular}",
		"2|a|1 & 2\n3|b|3\n4|c|4\n"},
	{"heads of later pages", "a.tex",
		"\\begin{longtable}{l}\n\\multirow{2}{*}{A} & B \\\\\n & C \\\\ \\endfirsthead\n"
		"\\multirow{9}{*}{D} & E \\\\\n\\endhead\n & 1 \\\\\n & 2 \\\\\n\\end{longtable}",
		"2|A|B\n3|A|C\n6||1\n7||2\n"},
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
	static const char text[] = "{\"scenario\": \"a.json\", \"names\": {\"note\": \"mha\", "
				   "\"\u0394-rule 2\": \"deltanet\"}}";
	struct al_paper_map map;
	struct al_error err = {0};

	(void)state;
	if (!al_paper_map_parse(&map, "m", text, strlen(text), &err))
		fail_msg("%s", err.message);
	assert_int_equal(map.n_names, 2);
	assert_string_equal(map.names[0].label,
		"NOTE"); /* in the form in which labels are compared */
	assert_string_equal(map.names[1].label, "DELTARULE2");
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
	{"a.md", "From 12 heads to 8, one third fewer.", "1 third reproduced\n"},
	{"a.md", "It goes 12.4 -> 9.1 GB (-26.6 %).", "1 26.6 % reproduced\n"},
	{"a.md",
		"It falls from 12.4 to 9.1, 26.6 % lower; it falls from 9.1 to 12.4, 36.3 % lower.",
		"1 26.6 % reproduced\n1 36.3 % inconsistent\n"},
	{"a.md", "It falls from 64 to 16 GB, a 4x reduction; 12 instead of 6 heads, 2x more.",
		"1 4x reproduced\n1 2x reproduced\n"},
	{"a.md", "From ~190 to 96 GB, 2.02x less.", "1 2.02x consistent\n"},
	{"a.md", "From ~190 to 96 GB, 2.06x less.", "1 2.06x inconsistent\n"},
	{"a.md", "It goes from 12.4 to 9.1 (\u221226.6 %).", "1 26.6 % reproduced\n"},
	{"a.md", "Of 12 dogs and 8 cats (20 animals in total) we speak.", "1 20 reproduced\n"},
	{"a.md", "We have 12\u00d78 = 96 of them.", "1 96 reproduced\n"},
	/* within the rounding of what they are made of, and not */
	{"a.md", "We have (2 + 3) \u00d7 4 = 20 and 2 x 3\u22486 of them.",
		"1 20 reproduced\n1 6 reproduced\n"},
	{"a.md", "Here 1.5^2 = 2.25, there 1.5^2 = 2.11, and 1.5^2 = 2.09.",
		"1 2.25 reproduced\n1 2.11 consistent\n"},
	{"a.md", "Here 0.9^2 = 0.81, there 0.9^2 = 0.73, and 0.9^2 = 0.71.",
		"1 0.81 reproduced\n1 0.73 consistent\n"},
	{"a.md", "Here 12.4 / 3.1 = 4.07, there 12.4 / 3.1 = 4.09.",
		"1 4.07 consistent\n1 4.09 inconsistent\n"},
	{"a.md", "Here 12.4 / 3.1 = 3.93, there 12.4 / 3.1 = 3.91.", "1 3.93 consistent\n"},
	{"a.md", "Here 1.2 x 3.1 = 3.51, there 1.2 x 3.1 = 3.49.", "1 3.51 consistent\n"},
	{"a.md", "Here 1.2 x 3.1 = 3.93, there 1.2 x 3.1 = 3.95.", "1 3.93 consistent\n"},
	{"a.md", "Here 7.5 - 1.2 = 6.21, there 7.5 - 1.2 = 6.19.", "1 6.21 consistent\n"},
	{"a.md", "Here 7.5 - 1.2 = 6.39, there 7.5 - 1.2 = 6.41.", "1 6.39 consistent\n"},
	/* a list's items are no sentence */
	{"a.md", "- from 64\n- to 16 GB, a 4x reduction", ""},
	{"a.md", "> * from 64\n> * to 16 GB, a 4x reduction", ""},
	{"a.md", "+ from 64\n+ to 16 GB, a 4x reduction", ""},
	{"a.md", "## from 64\n## to 16 GB, a 4x reduction", ""},
	{"a.md", "1. from 64\n2. to 16 GB, a 4x reduction", ""},
	{"a.md", "10) from 64\n11) to 16 GB, a 4x reduction", ""},
	{"a.tex", "\\item from 64\n\\item to 16 GB, a 4x reduction", ""},
	{"a.md", "from 64 to\n16 GB, a 4x reduction", "2 4x reproduced\n"},
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
	{"KV cache (KB / token)", AL_MEANS_CACHE_OF_TOKEN, 0},
	{"KV bytes/token", AL_MEANS_CACHE_OF_TOKEN, 0},
	{"KV KiB/tok", AL_MEANS_CACHE_OF_TOKEN, 0},
	{"KV fp16 @ 32K", AL_MEANS_CACHE, 0},
	{"KV at 8K", AL_MEANS_CACHE, 0},
	{"KV size, seq=4096", AL_MEANS_NOTHING, 0},
	{"KV 32K tokens", AL_MEANS_CACHE, 0},
	{"KV K8V4", AL_MEANS_CACHE, 0},
	{"KV cache (12x)", AL_MEANS_NOTHING, 0},
	{"KV cache 12\u00d7", AL_MEANS_NOTHING, 0},
	{"KV cache vs MHA", AL_MEANS_NOTHING, 0},
	{"GQA ratio", AL_MEANS_SIZE, AL_DIM_GROUP},
	{"attn (Q:KV)", AL_MEANS_SIZE, AL_DIM_GROUP},
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

static const struct {
	const char *file, *text, *caption;
} floats[] = {
	{"a.tex",
		"\\begin{table}\n\\caption[Of {8K}]{KV cache at {\\bf 8K} context\nand batch 4.}\n"
		"\\begin{tabular}{l}a & 1\\\\\n\\end{tabular}\n\\end{table}\n\\caption{Another.}\n",
		"KV cache at 8K context and batch 4."},
	{"a.tex",
		"\\begin{figure}\n\\begin{tabular}{l}a & 1\\\\\n\\end{tabular}\n"
		"\\captionof{table}{Of 8K tokens.}\n\\end{figure}\n",
		"Of 8K tokens."},
	{"a.tex",
		"\\begin{table}\n\\caption{Another.}\n\\end{table}\n"
		"\\begin{tabular}{l}a & 1\\\\\n\\end{tabular}\n",
		""},
	{"a.md", "Table 1: **8K** tokens.\n\n| a | b |\n|--|--|\n| c | 1 |\n",
		"Table 1: 8K tokens."},
	{"a.md", "Table 1: 8K tokens.\n\n\n\n| a | b |\n|--|--|\n| c | 1 |\n", ""},
};

static void finds_captions(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(floats); i++) {
		struct al_error err = {0};
		struct al_paper paper;
		if (!al_paper_parse(&paper, floats[i].file, floats[i].text, strlen(floats[i].text),
			    &err))
			fail_msg("%s", err.message);
		assert_string_equal(al_paper_caption(&paper, &paper.arena, 0), floats[i].caption);
		al_paper_finish(&paper);
	}
}

/* The facts of a caption: a number needs its noun. Of several the last is read, with a letter for
 * what there are several of: tokens, batches, formats; and for what devices share. */
static const struct {
	const char *caption;
	double tokens, batch, bytes;
	const char *several;
} captions[] = {
	{"KV cache at 8K context, BF16, batch size 4.", 8192, 4, 2, ""},
	{"Cache of 4,096 tokens in FP8.", 4096, 0, 1, ""},
	{"Sequence length of 2048 (fp16).", 2048, 0, 2, ""},
	{"On 8 GPUs, of 70B models, Table 3.", 0, 0, 0, "s"},
	{"Context 32K and 128K.", 131072, 0, 0, "t"},
	{"8K and 8,192 tokens", 8192, 0, 0, ""},
	{"batch 4 and batch 8", 0, 8, 0, "b"},
	{"in FP16 and in INT8", 0, 0, 1, "f"},
	{"per GPU", 0, 0, 0, "s"},
	{"on two devices", 0, 0, 0, "s"},
	{"per device", 0, 0, 0, "s"},
	/* contexts */
	{"4096 sequence length", 4096, 0, 0, ""},
	{"4096 ctx", 4096, 0, 0, ""},
	{"128k-token prompts", 131072, 0, 0, ""},
	{"context of 4096", 4096, 0, 0, ""},
	{"context length 4096", 4096, 0, 0, ""},
	{"context length of 4096", 4096, 0, 0, ""},
	{"length 4096", 4096, 0, 0, ""},
	{"seq 4096", 4096, 0, 0, ""},
	{"seqlen: 4096", 4096, 0, 0, ""},
	{"seq_len=4096", 4096, 0, 0, ""},
	{"len = 4096", 4096, 0, 0, ""},
	{"tokens ~4096", 4096, 0, 0, ""},
	{"ctx=4096", 4096, 0, 0, ""},
	{"at 32K", 32768, 0, 0, ""},
	{"@ 32K", 32768, 0, 0, ""},
	{"of 32K", 32768, 0, 0, ""},
	{"with 32K", 0, 0, 0, ""},
	{"1M tokens", 1 << 20, 0, 0, ""},
	{"262K tokens", 1 << 18, 0, 0, ""},
	{"65.5K tokens", 1 << 16, 0, 0, ""},
	{"v8K tokens", 0, 0, 0, ""},
	{"8Kx tokens", 0, 0, 0, ""},
	/* batches */
	{"batch of 4", 0, 4, 0, ""},
	{"batch size of 4", 0, 4, 0, ""},
	{"bs=4", 0, 4, 0, ""},
	{"4 sequences", 0, 4, 0, ""},
	{"4 requests", 0, 4, 0, ""},
	{"4 users", 0, 4, 0, ""},
	{"abs 4", 0, 0, 0, ""},
	/* formats */
	{"bfloat16", 0, 0, 2, ""},
	{"float16", 0, 0, 2, ""},
	{"f16", 0, 0, 2, ""},
	{"half precision", 0, 0, 2, ""},
	{"fp32", 0, 0, 4, ""},
	{"float32", 0, 0, 4, ""},
	{"f32", 0, 0, 4, ""},
	{"int4", 0, 0, 0.5, ""},
	{"int2", 0, 0, 0.25, ""},
	{"q8_0", 0, 0, 34. / 32, ""},
	{"q5_1", 0, 0, 24. / 32, ""},
	{"q5_0", 0, 0, 22. / 32, ""},
	{"q4_1", 0, 0, 20. / 32, ""},
	{"q4_0", 0, 0, 18. / 32, ""},
	{"3-bit", 0, 0, 0.375, ""},
	{"64 bits", 0, 0, 8, ""},
	{"65 bits", 0, 0, 0, ""},
	{"4 bitmaps", 0, 0, 0, ""},
	{"K8V4", 0, 0, 0.75, ""},
	{"k2v4", 0, 0, 0.375, ""},
	{"K8V4a", 0, 0, 0, ""},
	{"xint8", 0, 0, 0, ""},
	{"int8x", 0, 0, 0, ""},
};

static void reads_captions(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(captions); i++) {
		struct al_paper_facts facts;
		char several[5] = "";
		al_paper_read_facts(captions[i].caption, true, &facts);
		snprintf(several, sizeof(several), "%s%s%s%s", facts.has_several_tokens ? "t" : "",
			facts.has_several_batches ? "b" : "", facts.has_several_formats ? "f" : "",
			facts.is_shared ? "s" : "");
		if (facts.tokens != captions[i].tokens || facts.batch != captions[i].batch
			|| facts.bytes != captions[i].bytes
			|| strcmp(several, captions[i].several) != 0)
			fail_msg("%s: %g tokens, batch %g, %g bytes, \"%s\"", captions[i].caption,
				facts.tokens, facts.batch, facts.bytes, several);
	}
}

static void reads_units(void **state)
{
	static const char *const units[] = {"GiB", "GB", "MiB", "MB", "KiB", "KB", "TiB", "TB",
		"bytes"};

	(void)state;
	for (size_t i = 0; i < N_OF(units); i++) {
		struct al_paper_facts facts;
		al_paper_read_facts(units[i], true, &facts);
		assert_string_equal(facts.unit, strcmp(units[i], "KB") == 0 ? "kB" : units[i]);
	}
}

/* A context alone, whose K may be 1,000. */
static const struct {
	const char *text;
	double tokens, round;
} contexts[] = {
	{"8K", 8192, 8000},
	{"8k context", 8192, 8000},
	{"4,096 tokens", 4096, 4096},
	{"1M", 1 << 20, 1e6},
	{"262K", 1 << 18, 262000},
	{"1", 1, 1},
	{"32K (max)", 32768, 32000},
	{"1.5K", 1536, 1500},
	{"0", 0, 0},
	{"2.5", 0, 0},
	{"8-16", 0, 0},
	{"3 layers", 0, 0},
	{"long", 0, 0},
};

static void reads_contexts(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(contexts); i++) {
		double round = 0;
		const double tokens = al_paper_tokens(contexts[i].text, &round);
		if (tokens != contexts[i].tokens || (tokens > 0 && round != contexts[i].round))
			fail_msg("%s: %g tokens, %g", contexts[i].text, tokens, round);
	}
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
	{"1.02", "kB", "unit", 1.02, 1.0445, 0.005, 2},
	{"1.02", "MB", "unit", 1.02, 1.0696, 0.005, 2},
	{"1.02", "TB", "unit", 1.02, 1.1215, 0.005, 2},
	{"1.02", "KiB", "unit", 1.02, 0.9961, 0.005, 2},
	{"1.02", "MiB", "unit", 1.02, 0.9728, 0.005, 2},
	{"1.02", "TiB", "unit", 1.02, 0.9277, 0.005, 2},
	{"4.00", "GiB", "thousand", 4, 4000, 0.005, 2},
	{"4000", "GiB", "thousand", 4000, 4, 0.5, 0},
	{"0.42", "GiB", "point", 0.42, 4.2, 0.005, 2},
	{"4.21", "GiB", "truncation", 4.21, 4.2199, 0.005, 2},
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
				   "14,155,767 and Table 12.58M.1, 85,3701.2.34567 ran together.\n"
				   "It has 28.32M.\n";
	static const struct al_paper_truth truths[] = {
		{"18.87", "18.87", "M", "18.874368", false},
		{"12.57", "12.57", "M", "12.57", false},
		{"12.59", "12.59", "M", "12.59", false},
		{"14,155,776", "14,155,776", "", "14155776", false},
		{"28.32", "28.31", "M", "28.311552", true},
	};
	struct al_lint_counts counts = {0};
	struct al_paper paper;
	struct al_arena arena;
	struct al_paper_findings found = {.arena = &arena};

	(void)state;
	assert_true(al_paper_parse(&paper, "a.txt", text, strlen(text), NULL));
	al_arena_init(&arena);
	al_paper_read_prose(&paper, truths, N_OF(truths), &found, &counts);
	assert_int_equal(counts.in_prose, 2);
	assert_int_equal(counts.slips, 3);
	assert_int_equal(counts.gaps, 1);
	assert_int_equal(found.n, 4);
	assert_int_equal(found.items[0].line, 1);
	assert_string_equal(found.items[0].printed, "19.87M");
	assert_string_equal(found.items[0].note, "erratum? a slip for 18.87M");
	assert_string_equal(found.items[1].printed, "14,155,767");
	assert_int_equal(found.items[2].line, 3);
	assert_null(found.items[2].verdict);
	assert_string_equal(found.items[3].printed, "28.32M");
	assert_string_equal(found.items[3].expected, "28.311552");
	assert_string_equal(found.items[3].note, "as in the table");
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
		cmocka_unit_test(finds_captions),
		cmocka_unit_test(reads_captions),
		cmocka_unit_test(reads_units),
		cmocka_unit_test(reads_contexts),
		cmocka_unit_test(finds_causes),
		cmocka_unit_test(knows_a_slip),
		cmocka_unit_test(reads_relations),
		cmocka_unit_test(reads_prose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
