/* Widths of LaTeX against what TeX itself says (\settowidth in 10 pt Times, then in 8 pt Computer
 * Modern): never less, and little more where nothing is mathematics. */
#include "unit.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(are_never_less),
		cmocka_unit_test(are_broken_at_spaces_and_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
