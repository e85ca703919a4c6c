/* What LaTeX sets as mathematics in titles and notes, and what stays a text. */
#include "unit.h"

#include "report/latex_grid.h"

static const struct {
	const char *text, *latex;
} cases[] = {
	{"W_O excluded", "$W_O$ excluded"},
	{"d_model x d_model, (n_kv_heads)",
		"$d_\\mathrm{model} \\times d_\\mathrm{model}$, ($n_\\mathrm{kv\\,heads}$)"},
	{"default d_model/n_heads.", "default $d_\\mathrm{model}$/$n_\\mathrm{heads}$."},
	{"d_model x 3", "$d_\\mathrm{model}$ x 3"},
	{"n_heads*d_head", "$n_\\mathrm{heads}${*}$d_\\mathrm{head}$"},
	{"of $W_Q W_K^T$, all", "of $W_Q W_K^T$, all"},
	{"$d_{model}^2 + 3$", "$d_{\\mathrm{model}}^2 + 3$"},
	/* names that somebody types */
	{"qk_rank=4, --set a_b.json, layers/a_b, x-a_b",
		"qk\\_rank=4, --set a\\_b.json, layers/a\\_b, "
		"x-a\\_b"},
	{"d_ or n__heads", "d\\_ or n\\_\\_heads"},
	/* what would make LaTeX do something, or fail */
	{"5 $ a month", "5 \\$ a month"},
	{"$a_b_c$ $x_$ $^2$ $$", "\\$a\\_b\\_c\\$ \\$x\\_\\$ \\$\\textasciicircum{}2\\$ \\$\\$"},
	{"$\\input{a}$", "\\$\\textbackslash{}input\\{a\\}\\$"},
	{"$a_{b$", "\\$a\\_\\{b\\$"},
};

static void is_set_as_in_figures(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_text out;
		al_text_init(&out);
		al_latex_add_escaped(&out, cases[i].text);
		assert_string_equal(out.data, cases[i].latex);
		al_text_finish(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(is_set_as_in_figures)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
