/* Widths of LaTeX against what TeX itself says (\settowidth in 10 pt Times, then in 8 pt Computer
 * Modern): never less, and little more where nothing is mathematics. */
#include "unit.h"

#include <math.h>

#include "report/latex_layout.h"
#include "report/latex_width.h"

static const struct {
	const char *profile; /* whose typeface it is */
	double pt;
	const char *latex;
	double tex_pt;
	double most; /* times what TeX says */
} cases[] = {
	{"acl", 10, "84.4 (0.2)", 39.15991, 1.001},
	{"acl", 10, "\\textbf{MHE-MUL}", 50.54955, 1.02},
	{"acl", 10, "$-$0.71", 25.2778, 1.01},
	{"acl", 10, "14,155,776", 45, 1.001},
	{"acl", 10, "n\\_kv\\_heads {[}512{]}", 69.1297, 1.08},
	{"acl", 10, "$3 d_h d_m n + \\frac{1}{2} n^{2} n_p$", 73.91139, 1.35},
	{"acl", 10, "$84.0_{\\pm 0.3}$", 34.8751, 1.35},
	{"acl", 10, "$O(n^{2})$", 26.17183, 1.35},
	{"acl", 10, "6.5$^{**}$", 21.19446, 1.35},
	{"acl", 10, "$n^{a+b-c}$", 30.31934, 1.35},
	{"thesis", 8, "84.4 (0.2)", 35.41718, 1.06},
	{"thesis", 8, "\\textbf{MHE-MUL}", 49.25865, 1.02},
	{"thesis", 8, "14,155,776", 38.72278, 1.002},
};

static void are_never_less(void **state)
{
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct al_profile *profile;
		assert_true(al_profile_find(&arena, cases[i].profile, &profile, NULL));
		const struct al_latex_type type = {profile->typeface, cases[i].pt};
		const double share = al_latex_width(&type, cases[i].latex) / cases[i].tex_pt;
		if (share < 0.9999 || share > cases[i].most)
			fail_msg("%s: %g of what TeX says", cases[i].latex, share);
	}
	al_arena_finish(&arena);
}

static void are_broken_at_spaces_and_sums(void **state)
{
	(void)state;
	assert_int_equal(al_latex_piece("Optimizer states"), 10);
	assert_int_equal(al_latex_piece("$a_{b + c} + d$"), 12);
	assert_int_equal(al_latex_piece("{a b} c"), 6);
	assert_int_equal(al_latex_piece(""), 0);
}

/* A name behind what parts it, any other word after six pieces; commands with their groups, groups
 * and formulas stay whole. */
static void words_are_broken(void **state)
{
#define B "\\allowbreak{}"
	static const char *const words[][2] = {
		{"self.query", "self." B "query"},
		{"a/b-c:d", "a/" B "b-" B "c:" B "d"},
		{"n\\_kv\\_heads", "n\\_" B "kv\\_" B "heads"},
		{"abcdef", "abcdef"},
		{"abcdefghijklm", "abcdef" B "ghijkl" B "m"},
		{"abc.defghijk", "abc." B "defghi" B "jk"},
		{"abcdef ghijklm", "abcdef ghijkl" B "m"},
		{"ab cdefg. h", "ab cdefg. h"},
		{"caf\303\251s\303\251x", "caf\303\251s\303\251" B "x"},
		{"\\textbf{abc}defgh", "\\textbf{abc}defgh"},
		{"\\textbf{abc}defghi", "\\textbf{abc}defgh" B "i"},
		{"\\frac{a}{b}cdefgh", "\\frac{a}{b}cdefg" B "h"},
		{"\\char34{}bcdefg", "\\char34{}bcdef" B "g"},
		{"\\$abcdef", "\\$abcde" B "f"},
		{"{ab{\\}}c}defghi", "{ab{\\}}c}defgh" B "i"},
		{"$n^{2}$abcdef", "$n^{2}$abcde" B "f"},
		/* text that is no formula, and no command */
		{"abcde$fgh", "abcde$fgh"},
		{"abcdef\\", "abcdef" B "\\"},
		{"abcdefghijklmn abcdefghijklm",
			"abcdef" B "ghijkl" B "mn abcdef" B "ghijkl" B "m"},
	};
	enum { N = sizeof(words) / sizeof(*words) };
	const struct al_profile *profile;
	struct al_latex_column columns[] = {{.spec = "l", .head = "abcdefg"},
		{.spec = "r", .head = "ab"}};
	const char *cells[N][2], **rows[N];
	struct al_latex_grid grid = {columns, 2, rows, NULL, N}, broken;
	AL_ARENA(arena);

	(void)state;
	assert_true(al_profile_find(&arena, "acl", &profile, NULL));
	const struct al_latex_type type = {profile->typeface, 10};
	for (size_t i = 0; i < N; i++) {
		cells[i][0] = cells[i][1] = words[i][0];
		rows[i] = cells[i];
	}
	al_latex_grid_break_words(&grid, &arena, &type, 1, &broken);
	assert_string_equal(broken.columns[0].head, "abcdef" B "g");
	assert_string_equal(broken.columns[1].head, "ab");
	for (size_t i = 0; i < N; i++) {
		assert_string_equal(broken.rows[i][0], words[i][1]);
		assert_string_equal(broken.rows[i][1], words[i][0]);
	}
	al_latex_grid_break_words(&grid, &arena, &type, al_latex_width(&type, words[4][0]),
		&broken);
	assert_string_equal(broken.rows[4][0], words[4][0]);
	assert_string_equal(broken.rows[N - 1][0], "abcdef" B "ghijkl" B "mn abcdefghijklm");
	assert_string_equal(broken.columns[0].head, "abcdefg");
}

static void heads_are_stacked(void **state)
{
	static const char head[] = "aa bb cc dd";
	const struct al_profile *profile;
	size_t n_lines;
	AL_ARENA(arena);

	(void)state;
	assert_true(al_profile_find(&arena, "acl", &profile, NULL));
	const struct al_latex_type type = {profile->typeface, 10};
	const double two = al_latex_width(&type, "bb cc "), whole = al_latex_width(&type, head);
	assert_string_equal(al_latex_head_stack(&type, &arena, head, 'l', two),
		"\\shortstack[l]{aa bb\\\\cc dd}");
	assert_string_equal(al_latex_head_stack(&type, &arena, head, 'c', 1),
		"\\shortstack[c]{aa\\\\bb\\\\cc\\\\dd}");
	assert_string_equal(al_latex_head_stack(&type, &arena, head, 'r', whole),
		"\\shortstack[r]{aa bb cc dd}");
	const double widest = al_latex_head_width(&type, &arena, head, two, &n_lines);
	assert_int_equal(n_lines, 2);
	assert_float_equal(widest,
		fmax(al_latex_width(&type, "aa bb "), al_latex_width(&type, "cc dd")), 1e-9);
	/* at most three lines */
	assert_float_equal(al_latex_head_narrow(&type, &arena, head, 0, whole), widest, 1e-9);
	assert_float_equal(al_latex_head_narrow(&type, &arena, "aa bb cc", 0, 1000),
		al_latex_widest_piece(&type, "aa bb cc"), 1e-9);
	assert_float_equal(al_latex_head_narrow(&type, &arena, head, whole, whole), whole, 1e-9);
	assert_float_equal(al_latex_head_narrow(&type, &arena, head, two + 1, whole), widest, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(are_never_less),
		cmocka_unit_test(are_broken_at_spaces_and_sums),
		cmocka_unit_test(words_are_broken),
		cmocka_unit_test(heads_are_stacked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
