/* What a page shows of tables that are written down here: heads side by side, points, bars,
 * pairs. */
#include "unit.h"
#include "written.h"

#include <math.h>

#include "report/page/heads.h"

static const char *text_of(struct al_arena *arena, struct al_text *text)
{
	const char *copy = al_strdup(arena, text->length ? text->data : "");

	al_text_finish(text);
	al_text_init(text);
	return copy;
}

static void numbers_have_shades(void **state)
{
	static const double least[AL_PAGE_SHADES] = {0, .05, .15, .3, .45, .6, .8},
			    most[AL_PAGE_SHADES] = {INFINITY, 1, .8, .6, .4, .2, .1};

	(void)state;
	for (int shade = 0; shade < AL_PAGE_SHADES; shade++) {
		assert_true(al_page_shade_least(shade) == least[shade]);
		assert_int_equal(al_page_shade(least[shade]), shade);
		assert_int_equal(al_page_shade(-least[shade] - .001), shade);
		assert_true(al_page_cost_shade_most(shade) == most[shade]);
		if (shade > 0) {
			assert_int_equal(al_page_shade(least[shade] - .001), shade - 1);
			assert_int_equal(al_page_cost_shade(most[shade]), shade - 1);
			assert_int_equal(al_page_cost_shade(most[shade] - .001), shade);
		}
	}
	assert_int_equal(al_page_shade(NAN), 0);
	assert_int_equal(al_page_cost_shade(NAN), 0);
}

/* ---- heads ---- */

struct made {
	struct al_arena arena;
	struct al_table heads, pairs, redundant, drop;
	struct al_page_heads read;
};

static const char *const doing_names[] = {"itself", "previous token"};
static const struct al_texts doings = {doing_names, 2};

static void make(struct made *made, const char *heads, const char *pairs, const char *redundant,
	const char *drop)
{
	*made = (struct made){0};
	al_arena_init(&made->arena);
	write_table(&made->heads, "heads", heads);
	if (pairs)
		write_table(&made->pairs, "cosines", pairs);
	if (redundant)
		write_table(&made->redundant, "redundant", redundant);
	if (drop)
		write_table(&made->drop, "drop", drop);
	al_page_heads_read(&made->read, &made->arena, &made->heads, pairs ? &made->pairs : NULL,
		redundant ? &made->redundant : NULL, drop ? &made->drop : NULL, &doings);
}

static void unmake(struct made *made)
{
	al_table_finish(&made->heads);
	al_table_finish(&made->pairs);
	al_table_finish(&made->redundant);
	al_table_finish(&made->drop);
	al_arena_finish(&made->arena);
}

/* "A A - x": the marks of a module. */
static const char *marks_of(struct made *made, size_t module)
{
	const struct al_page_module *m = &made->read.modules[module];
	const char *text = "";

	for (size_t i = 0; i < m->n; i++)
		text = al_format(&made->arena, "%s%s%s", text, i ? " " : "",
			m->marks[i] ? m->marks[i] : "-");
	return text;
}

/* "1 2 0|0 2 1": of each head the others, the nearest first. */
static const char *neighbors_of(struct made *made, size_t module)
{
	const struct al_page_module *m = &made->read.modules[module];
	const char *text = "";

	for (size_t head = 0; head < m->n; head++) {
		text = al_format(&made->arena, "%s%s", text, head ? "|" : "");
		for (size_t place = 0; place < m->n; place++) {
			const int64_t nearest = al_page_nearest(&made->read, m, head, place);
			if (nearest >= 0)
				text = al_format(&made->arena, "%s%s%d", text, place ? " " : "",
					(int)nearest);
		}
	}
	return text;
}

static void heads_have_neighbors(void **state)
{
	struct made made;

	(void)state;
	make(&made,
		"module head kv_head\na 0 0\na 1 0\na 2 1\na 3 1\nb 0 0\nb 1 1\nb 2 2\nd 0 0\nd 1 "
		"0\nd 2 1",
		"module head_a head_b qk_cosine ov_cosine\n"
		"a 0 1 0.5 -0.75\na 0 2 0.25 0.5\na 0 3 0.9 0.5\na 1 2 0.3 0.3\na 1 3 - 0.2\n"
		"a 2 3 - -\nb 0 1 -0.5 0.1\nc 0 1 1 1\nb - 1 1 1",
		"module head twin cumulative_error\n"
		"a 1 0 0.1\na 3 2 0.2\na 2 0 0.3\nb 2 - 0\nb 1 0 -\nc 0 1 0",
		NULL);
	assert_int_equal(made.read.n_modules, 3);
	assert_int_equal(made.read.modules[1].first, 4);
	assert_true(made.read.modules[0].has_groups && !made.read.modules[1].has_groups);
	assert_true(made.read.modules[2].has_groups);
	assert_string_equal(neighbors_of(&made, 0), "1 3 2|0 2 3|1 0|0 1");
	assert_string_equal(neighbors_of(&made, 1), "1|0|");
	assert_string_equal(marks_of(&made, 0), "A A A A");
	assert_string_equal(marks_of(&made, 1), "- - x");
	unmake(&made);
}

static void heads_on_tokens(void **state)
{
	struct made made;

	(void)state;
	make(&made, "module head\na 0\na 1\na 2\na 3",
		"module head_a head_b logit_correlation output_cka\n"
		"a 0 1 0.5 0.5\na 0 2 0.9 0.2\na 0 3 0.5 0.5\na 1 2 0.1 0.1",
		"module head twin cumulative_error\na 2 1 0.1",
		"module head relative doing\na 0 9.9 itself~0.5\na 1 5 itselfish~1\na 2 10 "
		"previous~token~0.38\na 3 10 -");
	assert_true(made.read.is_on_tokens && made.read.has_costs);
	assert_string_equal(neighbors_of(&made, 0), "2 1 3|0 2|0 1|0");
	assert_string_equal(marks_of(&made, 0), "x A A -");
	static const int doing[] = {0, AL_PAGE_NO_HEAD, 1, AL_PAGE_NO_HEAD};
	static const double costs[] = {0.099, 0.05, 0.1, 0.1};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(made.read.modules[0].doing[i], doing[i]);
		assert_float_equal(made.read.modules[0].costs[i], costs[i], 1e-15);
	}
	unmake(&made);
	/* what heads cost decides, where how alike they are on tokens isn't known */
	make(&made, "module head\na 0\na 1", "module head_a head_b qk_cosine ov_cosine\na 0 1 1 1",
		"module head twin cumulative_error\na 1 0 0",
		"module head relative\na 0 12\nb 1 0");
	assert_string_equal(marks_of(&made, 0), "- -");
	assert_true(isnan(made.read.modules[0].costs[1]));
	unmake(&made);
}

/* The 27th group of copies is AA. */
static void groups_have_letters(void **state)
{
	struct made made;
	AL_TEXT(heads);
	AL_TEXT(redundant);

	(void)state;
	al_text_add(&heads, "module head");
	al_text_add(&redundant, "module head twin cumulative_error");
	for (int i = 0; i < 28; i++) {
		al_text_addf(&heads, "\nm%d 0\nm%d 1", i, i);
		al_text_addf(&redundant, "\nm%d 1 0 0", i);
	}
	make(&made, heads.data, NULL, redundant.data, NULL);
	assert_string_equal(marks_of(&made, 0), "A A");
	assert_string_equal(marks_of(&made, 25), "Z Z");
	assert_string_equal(marks_of(&made, 26), "AA AA");
	assert_string_equal(marks_of(&made, 27), "AB AB");
	unmake(&made);
}

/* ---- the map ---- */

static void maps_fit_their_heads(void **state)
{
	static const struct {
		int n;
		const char *size, *class;
	} sizes[] = {
		{1, "width=73 height=94", ""},
		{12, "width=557 height=94", ""},
		{13, "width=497 height=86", ""},
		{16, "width=605 height=86", ""},
		{17, "width=471 height=76", "wide"},
		{32, "width=861 height=76", "wide"},
		{33, "width=689 height=70", "wide"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct made made;
		AL_TEXT(heads);
		AL_TEXT(map);
		al_text_add(&heads, "module head");
		for (int head = 0; head < sizes[i].n; head++)
			al_text_addf(&heads, "\na %d", head);
		make(&made, heads.data, NULL, NULL, NULL);
		al_page_head_map(&map, &made.read, NULL, 0);
		const char *begin = al_format(&made.arena,
			"<div class=scroll><svg id=map class=\"%s\" role=grid %s ", sizes[i].class,
			sizes[i].size);
		if (strncmp(map.data, begin, strlen(begin)) != 0)
			fail_msg("%d heads: %.120s", sizes[i].n, map.data);
		assert_true((strstr(map.data, ">1</text>") != NULL)
			== (sizes[i].n > 1 && sizes[i].n <= 32));
		assert_true((strstr(map.data, ">32</text>") != NULL) == (sizes[i].n == 33));
		unmake(&made);
	}
}

/* Modules that were left out are in their places; labels end after 26 letters; groups have gaps. */
static void maps_show_what_is_missing(void **state)
{
	static const struct al_page_left_out left_out[] = {
		{"first", "why <1>", 5, 0},
		{"abcdefghijklmnopqrstuvwxyz", "why 2", 0, 1},
		{"abcdefghijklmnopqrstuvwxyz0", "why 3", 4, 2},
	};
	struct made made;
	AL_TEXT(map);

	(void)state;
	make(&made, "module head kv_head\na 0 0\na 1 0\na 2 1\na 3 1\nb 0 0\nb 1 0\nb 2 1\nb 3 1",
		"module head_a head_b qk_cosine ov_cosine\na 0 1 0.5 -0.5\na 1 2 -0.5 0.5",
		"module head twin cumulative_error\na 1 0 0\na 3 - 0", NULL);
	al_page_head_map(&map, &made.read, left_out, 3);
	/* 14 + 26*9 = 248 to the left; five columns of 44 and two gaps of 8 */
	const char *svg = strstr(map.data, "<g");
	assert_non_null(strstr(map.data, "width=490 height=270 "));
	assert_non_null(strstr(map.data,
		"x=268 y=38 text-anchor=middle>0</text><text class=mu x=312 y=38 "
		"text-anchor=middle>1</text><text class=mu x=364 y=38 "
		"text-anchor=middle>2</text>"));
	static const char *const parts[] = {
		"<g class=hatched><title>why &lt;1&gt;</title><text class=mu x=240 y=72 "
		"text-anchor=end>first</text><rect fill=\"url(#hatch)\" x=248 y=46 width=233 "
		"height=41 rx=3 /></g>\n<g><text class=mu x=240 y=116 text-anchor=end>a</text>"
		"<g class=\"head marked\"><rect class=s4 x=248 y=90 width=41 height=41 rx=3 />"
		"<text class=letter x=268 y=115 text-anchor=middle>A</text></g>",
		"<g class=\"head\"><rect class=s0 x=344 y=90 width=41 height=41 rx=3 /></g>"
		"<g class=\"head marked\"><rect class=unknown x=388 y=90 width=41 height=41 rx=3 />"
		"<text class=letter x=408 y=115 text-anchor=middle>x</text></g></g>\n"
		"<g class=hatched><title>why 2</title><text class=mu x=240 y=160 "
		"text-anchor=end>abcdefghijklmnopqrstuvwxyz</text><rect fill=\"url(#hatch)\" x=248 "
		"y=134 width=41 height=41 rx=3 /></g>\n",
		"<title>why 3</title><text class=mu x=240 y=248 text-anchor=end>",
		"abcdefghijklmnopqrstuvwxyz\342\200\246</text>",
	};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *found = svg ? strstr(svg, parts[i]) : NULL;
		if (!found)
			fail_msg("no \"%s\" in \"%s\"", parts[i], svg ? svg : "");
		svg = found;
	}
	svg = strstr(svg, "<p class=key>");
	assert_non_null(svg);
	assert_non_null(strstr(svg,
		"</svg> alike (from 0.05, 0.15, 0.3, 0.45, 0.6, 0.8)</span><span><b>A A</b> the "
		"same "
		"letter: copies of each other</span><span><b>x</b> writes almost "
		"nothing</span><span>gaps: heads of a group read one key and "
		"value</span><span>hatched: not measured</span></p>\n"));
	unmake(&made);
}

/* ---- points and bars ---- */

static void frontiers_outdo(void **state)
{
	static const char *const y[] = {"e", "f", NULL}, *const names[] = {"name", "note", NULL};
	struct al_table table, best;
	const struct al_page_points points = {&table, "x", "x title", "y title", y, names};
	const char *order = "";
	size_t n;
	AL_ARENA(arena);
	AL_TEXT(out);

	(void)state;
	write_table(&table, "t",
		"name note x e f\na - 50 0.4 0.1\nb more 30 0.1 0.2\nc - 50 0.1 0.4\nd - 60 - "
		"0.41\n"
		"e - 0 0 0\nf - -10 0 0\ng - 20 0.2 -\nh - 20.1 - -\ni - 30 0.1 0.3");
	const size_t *rows = al_page_frontier(&arena, &points, &n);
	for (size_t i = 0; i < n; i++)
		order = al_format(&arena, "%s%s", order, al_table_text(&table, rows[i], "name"));
	assert_string_equal(order, "bad");
	al_page_frontier_table(&best, &points);
	assert_int_equal(best.n_rows, 3);
	assert_true(best.rows[2][0].kind == AL_CELL_EXACT
		&& mpq_cmp_ui(best.rows[2][0].exact, 3, 1) == 0);
	assert_string_equal(al_table_text(&best, 1, "name"), "a");
	al_page_add_points(&out, &points);
	/* 60 and 0.6 are the ends of the axes: 644 wide, 316 high */
	static const char *const parts[] = {"aria-label=\"y title\"", "M56 332.0H700", ">0</text>",
		"M56 226.7H700", ">0.2</text>", "M56 16.0H700", ">0.6</text>",
		"x=\"56.0\" y=\"350\"", "x=\"270.7\"", ">20</text>", "x=\"700.0\"", ">60</text>",
		"x=\"388\" y=\"372\"", "translate(14 174)",
		"<g class=\"point\"><title>c</title><circle cx=\"592.7\" cy=\"121.3\" "
		"r=\"4\"/></g>",
		"<title>e</title><circle cx=\"56.0\" cy=\"332.0\"", "<title>g</title>",
		"d=\"M378.0 226.7L592.7 121.3L700.0 116.1\"/>",
		"<g class=\"best\"><title>b, more</title><circle cx=\"378.0\" cy=\"226.7\" "
		"r=\"9\"/><text x=\"378.0\" y=\"230.7\" text-anchor=\"middle\">1</text></g>",
		">2</text>", ">3</text></g>\n</svg>\n"};
	const char *at = out.data;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *found = strstr(at, parts[i]);
		if (!found)
			fail_msg("no \"%s\" in \"%s\"", parts[i], at);
		at = found;
	}
	assert_null(strstr(out.data, ">80</text>"));
	assert_null(strstr(out.data, "<title>f"));
	al_table_finish(&table);
	al_table_finish(&best);
}

static void bars_are_as_long_as_their_numbers(void **state)
{
	struct al_table table;
	struct al_page_bars bars = {&table, "name", "v", "r", "total", "axis & more"};
	AL_ARENA(arena);
	AL_TEXT(out);

	(void)state;
	write_table(&table, "t", "name v r\na 4 5\nb -1 -\nc - 9\ntotal 20 20\nd 1 -2");
	al_page_add_bars(&out, &bars);
#define BAR(name, row, value, mark, width, line) \
	"<div><span>" name "</span><span><data data-cell=\"t/" row "/v\">" value "</data>" mark \
	"</span><svg aria-hidden=\"true\" height=\"18\"><rect class=\"bar\" y=\"3\" " \
	"width=\"" width "\" height=\"12\"/>" line "</svg></div>\n"
	assert_string_equal(text_of(&arena, &out),
		"<figure class=\"bars\">\n" BAR("a", "0", "4",
			", mark <data data-cell=\"t/0/r\">5</data>", "80.00%",
			"<line class=\"mark\" x1=\"100.00%\" x2=\"100.00%\" y1=\"0\" y2=\"18\"/>")
			BAR("b", "1", "-1", "", "0.00%", "") BAR("d", "4", "1",
				", mark <data data-cell=\"t/4/r\">-2</data>", "20.00%",
				"<line class=\"mark\" x1=\"0.00%\" x2=\"0.00%\" y1=\"0\" "
				"y2=\"18\"/>") "<figcaption>axis &amp; "
					       "more</figcaption></figure>\n");
	bars.reference = bars.leaves_out = NULL;
	al_page_add_bars(&out, &bars);
	assert_non_null(strstr(out.data, "t/3/v\">20</data></span>"));
	assert_non_null(strstr(out.data, "width=\"20.00%\""));
	assert_null(strstr(out.data, "mark"));
	text_of(&arena, &out);
	bars.value = "r";
	bars.leaves_out = "total";
	table.n_rows = 2;
	al_cell_set_int(&table, &table.rows[0][2], 0);
	al_page_add_bars(&out, &bars);
	assert_string_equal(text_of(&arena, &out), "");
	al_table_finish(&table);
}

/* ---- pairs ---- */

static void pairs_are_drawn(void **state)
{
	struct made made;
	AL_TEXT(out);

	(void)state;
	make(&made, "module head\na 0\na 1\na 2",
		"module head_a head_b qk_cosine ov_cosine\na 0 1 5e-2 -0.9\na 0 2 0.07 0.04\na 1 2 "
		"- 0.2",
		NULL, NULL);
	al_page_pair_maps(&out, &made.read);
	const char *expected =
		"<figure><svg role=img width=3 height=3 viewBox=\"0 0 3 3\" aria-label=\"a\"><g "
		"transform=\"translate(0 .5)\"><path class=q6 d=\"M0 1h1\"/><path class=p1 d=\"M1 "
		"0h2\"/><path class=p2 d=\"M1 2h1\"/></g><path class=diagonal d=\"M0 0L3 "
		"3\"/></svg><figcaption>a</figcaption></figure>\n</div>\n";
	if (!strstr(out.data, expected))
		fail_msg("%s", out.data);
	assert_non_null(strstr(out.data, "M216 7h18\"/></svg> positive, from 0.05 on"));
	unmake(&made);
}

static void many_pairs_lack_the_palest(void **state)
{
	(void)state;
	for (int n = 316; n < 318; n++) {
		struct made made;
		AL_TEXT(heads);
		AL_TEXT(out);
		al_text_add(&heads, "module head");
		for (int head = 0; head < n; head++)
			al_text_addf(&heads, "\na %d", head);
		make(&made, heads.data, "module head_a head_b qk_cosine ov_cosine\na 0 1 0.06 0.16",
			NULL, NULL);
		al_page_pair_maps(&out, &made.read);
		assert_true((strstr(out.data, "class=p1 d=\"M1 0h1") != NULL) == (n == 316));
		assert_non_null(strstr(out.data, "class=p2 d=\"M0 1h1"));
		assert_non_null(strstr(out.data, n == 316 ? "from 0.05 on" : "from 0.15 on"));
		unmake(&made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_shades),
		cmocka_unit_test(heads_have_neighbors),
		cmocka_unit_test(heads_on_tokens),
		cmocka_unit_test(groups_have_letters),
		cmocka_unit_test(maps_fit_their_heads),
		cmocka_unit_test(maps_show_what_is_missing),
		cmocka_unit_test(frontiers_outdo),
		cmocka_unit_test(bars_are_as_long_as_their_numbers),
		cmocka_unit_test(pairs_are_drawn),
		cmocka_unit_test(many_pairs_lack_the_palest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
