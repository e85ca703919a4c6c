/* Figures as SVG: text that can be found, colors that follow the page, math; maps in rows. */
#include "unit.h"

#include <math.h>

#include "drawing.h"
#include "figure/palette.h"
#include "figure/typeset.h"

static void draw(struct al_text *out, const struct al_figure *figure, const struct al_table *table)
{
	struct al_error err = {0};

	al_text_init(out);
	if (!al_figure_draw(figure, table, AL_FIGURE_SVG, out, &err))
		fail_msg("%s", err.message);
}

static void the_document_says_what_it_is(void **state)
{
	struct al_table table;
	struct al_text svg;

	(void)state;
	draw_case(figure_case_open("mhe-figure-1", &table), &table, AL_FIGURE_SVG, &svg);
	assert_non_null(strstr(svg.data, " role=\"img\""));
	assert_non_null(strstr(svg.data, "<title>"));
	assert_non_null(strstr(svg.data, "@media(prefers-color-scheme:dark)"));
	assert_non_null(strstr(svg.data, ">MHA</text>"));
	assert_null(strstr(svg.data, " id="));
	assert_true(svg.length < 20000);
	al_text_finish(&svg);
	al_table_finish(&table);
}

static double luminance(struct al_color c)
{
	return 0.2126 * pow(c.red, 2.2) + 0.7152 * pow(c.green, 2.2) + 0.0722 * pow(c.blue, 2.2);
}

static double contrast(struct al_color a, struct al_color b)
{
	const double x = luminance(a) + 0.05, y = luminance(b) + 0.05;

	return x > y ? x / y : y / x;
}

/* WCAG 2 asks for 4.5 of text, for 3 of what is drawn. */
static void dark_pages_can_be_read(void **state)
{
	const struct al_color back = al_color_on_dark(al_color_white);

	(void)state;
	assert_true(luminance(back) < 0.02);
	assert_true(contrast(al_color_on_dark(al_color_ink), back) >= 7);
	for (size_t i = 0; i < AL_FIGURE_N_COLORS; i++) {
		assert_true(contrast(al_color_on_dark(al_series_ink(i)), back) >= 4.5);
		assert_true(contrast(al_color_on_dark(al_series_color(i)), back) >= 3);
	}
}

static bool is_of_0_to_1(double v)
{
	return v >= 0 && v <= 1;
}

/* Pure ones, which OKLab makes brighter than a screen can. */
static void dark_pages_have_colors_of_screens(void **state)
{
	(void)state;
	for (unsigned corner = 0; corner < 8; corner++) {
		const struct al_color c = al_color_on_dark((struct al_color){.red = corner & 1,
			.green = (corner >> 1) & 1,
			.blue = corner >> 2});
		assert_true(is_of_0_to_1(c.red) && is_of_0_to_1(c.green) && is_of_0_to_1(c.blue));
	}
}

/* CIE L*, of which white has 100. */
static double lightness(struct al_color color)
{
	return 116 * cbrt(luminance(color)) - 16;
}

/* In gray print two colors differ by five steps, the first four, of which stacked bars are made,
 * by ten. */
static void colors_differ_in_lightness(void **state)
{
	enum { N_STACKED = 4 };

	(void)state;
	for (size_t i = 0; i < AL_FIGURE_N_COLORS; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(
				fabs(lightness(al_series_color(i)) - lightness(al_series_color(k)))
				> (i < N_STACKED ? 10 : 5));
}

static void math_is_typeset(void **state)
{
	static const struct {
		const char *text, *plain, *levels;
	} cases[] = {
		{"W_Q", "WQ", "=_"},
		{"d_model x n_kv_heads", "dmodel x nkv heads", "=_____====________"},
		{"layer.W_Q, qk_rank, a_b.json", "layer.W_Q, qk_rank, a_b.json",
			"============================"},
		{"of $W_Q W_K^T$, all", "of WQWKT, all", "====_=_^====="},
		{"$d_{model}$", "dmodel", "=_____"},
		{"5 $ a month", "5 $ a month", "==========="},
		{"$x_", "$x_", "==="},
		{"$x_$", "x_", "=="},
		{"$a_\u00e9$", "a\u00e9", "=__"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_text plain, levels;
		al_text_init(&plain);
		al_text_init(&levels);
		al_typeset(cases[i].text, &plain, &levels);
		assert_string_equal(plain.data, cases[i].plain);
		assert_string_equal(levels.data, cases[i].levels);
		al_text_finish(&plain);
		al_text_finish(&levels);
	}
}

static void names_are_escaped(void **state)
{
	const struct al_figure figure = {.id = "a<b>&\x01",
		.mark = "bar",
		.x = {.column = "x", .title = "<script> & $W_Q$"},
		.y = {.column = "y"}};
	struct al_table table;
	struct al_text svg;

	(void)state;
	al_table_init(&table, "t", "");
	al_table_add_column(&table, (struct al_column){.key = "x"});
	al_table_add_column(&table, (struct al_column){.key = "y"});
	struct al_cell *cell = al_table_add_row(&table);
	al_cell_set_text(&table, cell, "]]>");
	al_cell_set_int(&table, cell + 1, 3);
	draw(&svg, &figure, &table);
	assert_non_null(strstr(svg.data, "<title>a&lt;b&gt;&amp; </title>"));
	assert_non_null(strstr(svg.data, ">&lt;script&gt; &amp; W<tspan dy="));
	assert_non_null(strstr(svg.data, ">]]&gt;</text>"));
	al_text_finish(&svg);
	al_table_finish(&table);
}

/* ---- a map of each of seven modules, three a row ---- */

enum { MODULES = 7, HEADS = 4 };

static void fill_modules(struct al_table *table)
{
	static const char *const keys[] = {"module", "a", "b", "cosine"};

	al_table_init(table, "cosines", "");
	for (size_t i = 0; i < 4; i++)
		al_table_add_column(table, (struct al_column){.key = keys[i]});
	for (int i = 0; i < MODULES * HEADS * HEADS; i++) {
		const int a = i / HEADS % HEADS, b = i % HEADS;
		char name[16];
		struct al_cell *cell = al_table_add_row(table);
		snprintf(name, sizeof(name), "layers.%d", i / (HEADS * HEADS));
		al_cell_set_text(table, cell++, name);
		al_cell_set_int(table, cell++, a);
		al_cell_set_int(table, cell++, b);
		al_cell_set_real(cell, a == b ? 1 : a + b == 3 ? -0.2 : 0.1);
	}
}

static void maps_stand_in_rows(void **state)
{
	const struct al_figure figure = {.id = "map",
		.mark = "heatmap",
		.x = {.column = "a"},
		.y = {.column = "b"},
		.color = {.column = "cosine"},
		.is_diverging = true,
		.leaves_diagonal = true,
		.panel = "module",
		.panels_a_row = 3,
		.width_pt = AL_FIGURE_PAGE_PT};
	size_t n_frames = 0, n_dashes = 0;
	struct al_table table;
	struct al_text text;
	struct svg svg;

	(void)state;
	fill_modules(&table);
	draw(&text, &figure, &table);
	assert_true(svg_read(&svg, text.data));
	for (size_t i = 0; i < svg.n_shapes; i++) {
		const struct svg_shape *s = &svg.shapes[i];
		const double width = s->box.right - s->box.left;
		if (has_color(s->stroke, al_color_axis) && s->n_points == 3) {
			assert_true(fabs(width - (s->box.bottom - s->box.top)) < 0.02);
			n_frames++;
		}
		n_dashes += s->stroke_width == 0.5 && s->n_points == 2;
		/* the diagonal's 1 isn't drawn, so that -0.2 is the darkest of its hue */
		assert_false(has_color(s->fill, al_ramp_color(1, true)) && width > 20);
	}
	assert_int_equal(n_frames, MODULES);
	assert_int_equal(n_dashes, MODULES * HEADS);
	svg_finish(&svg);
	al_text_finish(&text);
	al_table_finish(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_document_says_what_it_is),
		cmocka_unit_test(dark_pages_can_be_read),
		cmocka_unit_test(dark_pages_have_colors_of_screens),
		cmocka_unit_test(colors_differ_in_lightness),
		cmocka_unit_test(math_is_typeset),
		cmocka_unit_test(names_are_escaped),
		cmocka_unit_test(maps_stand_in_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
