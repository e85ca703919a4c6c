/* Figures of a scenario: what they draw, and that a variant looks the same in all of them. */
#include "scenario_text.h"

#include <math.h>

#include "figure/palette.h"
#include "svg.h"

/* MHA and MQA, one and two layers, at two and four heads. */
#define FIGURES(rest) \
	"{" SMALL \
	", 'sweeps': [{'id': 's', 'over': {'n_heads': [2, 4], 'n_layers': [1, 2]}, 'variants': " \
	"['mha', 'mqa'], 'basis': {'per': 'model'}, 'set': {'d_model': 8}, 'measure': " \
	"'parameters'}], 'figures': [" rest "]}"

/* The figure of that index as SVG, or the message of the error in `out`. */
static bool draw(const char *scenario, size_t index, struct al_text *out)
{
	struct al_catalog *catalog = al_catalog_create();
	struct al_scenario *s = NULL;
	struct al_table table = {0};
	struct al_error err = {0};

	al_text_init(out);
	bool ok = parse_text(&s, catalog, "", scenario, &err)
		&& al_scenario_figure_table(s, index, &table, &err);
	if (ok) {
		ok = al_figure_draw(&s->figures[index].figure, &table, AL_FIGURE_SVG, out, &err);
		al_table_finish(&table);
	}
	if (!ok) {
		al_text_finish(out);
		al_text_init(out);
		al_text_add(out, err.message);
	}
	al_scenario_destroy(s);
	al_catalog_destroy(catalog);
	return ok;
}

static size_t count_filled(const char *image, struct al_color color)
{
	struct svg svg;
	size_t n = 0;

	assert_true(svg_read(&svg, image));
	for (size_t i = 0; i < svg.n_shapes; i++)
		n += svg_color_is(svg.shapes[i].fill, (int)lround(color.red * 255),
			(int)lround(color.green * 255), (int)lround(color.blue * 255));
	svg_finish(&svg);
	return n;
}

static void draws_heat_maps(void **state)
{
	struct al_text image;

	(void)state;
	if (!draw(FIGURES("{'id': 'f', 'of': 's', 'mark': 'heatmap', 'x': 'n_heads', 'y': "
			  "'n_layers', 'color': 'parameters', 'variants': ['mqa']}"),
		    0, &image))
		fail_msg("%s", image.data);
	/* one layer of four heads is the least, two of two the most */
	assert_int_equal(count_filled(image.data, al_ramp_color(0, false)), 1);
	assert_int_equal(count_filled(image.data, al_ramp_color(1, false)), 1);
	al_text_finish(&image);
}

/* The second figure shows MQA alone: in its own color, not in the first. */
static void keeps_colors(void **state)
{
	static const char text[] = FIGURES(
		"{'id': 'f', 'of': 's', 'mark': 'bar', 'x': 'n_heads', 'y': 'parameters', "
		"'series': 'variant', 'panel': 'n_layers'}, "
		"{'id': 'g', 'of': 's', 'mark': 'bar', 'x': 'n_heads', 'y': 'parameters', "
		"'series': 'variant', 'panel': 'n_layers', 'variants': ['mqa']}");
	struct al_text both, one;

	(void)state;
	assert_true(draw(text, 0, &both));
	assert_true(draw(text, 1, &one));
	assert_true(count_filled(both.data, al_series_color(0)) >= 4);
	assert_true(count_filled(both.data, al_series_color(1)) >= 4);
	assert_int_equal(count_filled(one.data, al_series_color(0)), 0);
	assert_true(count_filled(one.data, al_series_color(1)) >= 4);
	al_text_finish(&both);
	al_text_finish(&one);
}

/* MQA is black wherever it is, MHA has the first free color; bars that x names need no legend. */
static void takes_given_colors(void **state)
{
	static const char text[] =
		"{" SMALL ", 'colors': {'mqa': 'black'}, 'tables': [{'id': 't', 'variants': "
		"['mqa', 'mha'], 'columns': ['parameters'], 'set': {'d_model': 8, 'n_heads': 2}}], "
		"'figures': [{'id': 'f', 'of': 't', 'mark': 'bar', 'x': 'variant', 'series': "
		"'variant'}]}";
	struct al_text image;

	(void)state;
	if (!draw(text, 0, &image))
		fail_msg("%s", image.data);
	assert_int_equal(count_filled(image.data, al_series_color(0)), 1);
	assert_int_equal(count_filled(image.data, al_series_color(6)), 1);
	al_text_finish(&image);
}

/* Two panels, each with what a listing says of it. */
#define BENEATH(rows, rest) \
	"{" SMALL ", 'listings': [{'id': 'pairs', 'columns': ['side', 'x', 'y', 'v'], 'rows': " \
	"[['left', 0, 0, " \
	"1], ['left', 1, 1, 2], ['right', 0, 1, 3], ['right', 1, 0, 4]]}, {'id': 'sides', " \
	"'columns': ['side', {'key': 'a', 'title': 'least', 'group': 'Norm', 'digits': 2}], " \
	"'rows': " rows "}], 'figures': [{'id': 'f', 'of': 'pairs', 'mark': 'heatmap', 'x': 'x', " \
	"'y': 'y', 'color': 'v', 'beneath': " rest "}]}"

static void joins_what_stands_beneath(void **state)
{
	static const char text[] = BENEATH("[['right', 2], ['left', 1]]",
		"{'of': 'sides', 'columns': ['a']}, 'panel': 'side', 'width': 'page'");
	struct al_catalog *catalog = al_catalog_create();
	struct al_scenario *s = NULL;
	struct al_table table;
	struct al_error err;

	(void)state;
	if (!parse_text(&s, catalog, "", text, &err)
		|| !al_scenario_figure_table(s, 0, &table, &err))
		fail_msg("%s", err.message);
	const int a = al_table_find_column(&table, "a");
	for (size_t row = 0; row < 4; row++) {
		double value;
		assert_true(al_cell_number(&table.rows[row][a], &value));
		assert_true(value == (row < 2 ? 1 : 2));
	}
	al_table_finish(&table);
	al_scenario_destroy(s);
	al_catalog_destroy(catalog);
}

/* Two series of x = 1 and 2: 1, 2 and 0, 8; row 3 is 4 at x = 3. */
#define OVERLAID(rest) \
	"{" SMALL ", 'listings': [{'id': 'l', 'columns': ['x', 's', 'v', 'w'], 'rows': [[1, " \
	"'a', 1, 0], [2, 'a', 2, 3], [3, 'a', 4, 5], [1, 'b', 0, 0], [2, 'b', 8, 9]]}], " \
	"'figures': [{'id': 'f', 'of': 'l', 'mark': 'line', 'x': 'x', 'series': 's', " rest "}]}"

#define NAME_39 "a name of thirty-nine letters and space"
#define NAME_40 NAME_39 "s"

static void refuses_what_cannot_be_drawn(void **state)
{
	static const struct {
		const char *scenario, *expected;
	} cases[] = {
		{FIGURES("{'id': 'f', 'of': 's', 'mark': 'heatmap', 'x': 'n_heads', 'y': "
			 "'n_layers'}"),
			"a heatmap needs the column of its colors"},
		{FIGURES("{'id': 'f', 'of': 's', 'mark': 'line', 'x': 'n_heads', 'y': "
			 "'parameters', 'color': 'n_layers'}"),
			"only a heatmap has a column of colors"},
		{FIGURES("{'id': 'f', 'of': 's', 'mark': 'line', 'y': 'parameters', 'x': "
			 "{'columns': ['n_heads']}}"),
			"unknown key \"columns\""},
		{FIGURES("{'id': 'f', 'of': 's', 'mark': 'heatmap', 'x': 'n_heads', 'y': "
			 "'n_layers', 'color': 'paramters'}"),
			"paramters"},
		{FIGURES("{'id': 'f', 'of': 's', 'mark': 'line', 'y': 'parameters', 'x': "
			 "{'column': 'n_heads', 'ticks': [{'value': 2, 'name': '" NAME_40 "'}]}}"),
			"a tick's name of more than 39 bytes"},
		{FIGURES("{'id': 'f', 'of': 's', 'mark': 'line', 'y': 'parameters', 'x': "
			 "{'column': 'n_heads', 'ticks': [{'value': 2, 'name': '" NAME_39
			 "'}, 2]}}"),
			"the tick 2 follows 2, expected rising ticks"},
		{BENEATH("[['left', 1]]", "{'of': 'sides', 'columns': ['a']}, 'panel': 'side'"),
			"figure \"f\": listing \"sides\" has no row for the panel of row 3"},
		{BENEATH("[['left', 1]]", "{'of': 'sides', 'columns': ['b']}, 'panel': 'side'"),
			"figure \"f\": table \"sides\" has no column \"b\""},
		{BENEATH("[['left', 1]]", "{'of': 'side', 'columns': ['a']}, 'panel': 'side'"),
			"unknown listing \"side\" (did you mean \"sides\"?)"},
		{BENEATH("[['left', 1]]", "{'of': 'sides', 'columns': ['a']}"),
			"\"beneath\" needs \"panel\""},
		{OVERLAID("'y': 'v', 'inset': {'x': {'min': 10, 'max': 20}}"),
			"no point lies in the inset, x from 10 to 20"},
		{OVERLAID("'y': 'v', 'inset': {'x': {'min': 3, 'max': 3}}"),
			"found 3 to 3, expected a range upwards"},
		{OVERLAID("'y': 'v', 'inset': {'x': {'min': 3, 'max': 20}}"),
			"reaches beyond the axes"},
		{OVERLAID("'y': 'v', 'inset': {'y': {'min': 3, 'max': 20}}"), "\"x\""},
		{OVERLAID("'y': 'v', 'bands': [{'low': 'w'}]"),
			"expected either \"low\" and \"high\", two columns, or \"between\", two "
			"series"},
		{OVERLAID("'y': 'v', 'bands': [{'between': ['a']}]"),
			"found 1 names, expected two"},
		{OVERLAID("'y': 'v', 'bands': [{'between': ['a', 'c']}]"), "unknown series \"c\""},
		{OVERLAID("'y': 'v', 'bands': [{'low': 'v', 'high': 'w'}]"),
			"row 1: the band's low end, 1, lies above its high end, 0"},
		{OVERLAID("'y': 'v', 'bands': [{'low': 'v', 'high': 'z'}]"),
			"unknown column \"z\""},
		{OVERLAID("'y': 'v', 'ratios': [{'of': {'x': 1, 'series': 'a'}, 'to': {'x': 1, "
			  "'series': 'b'}}]"),
			"the ratio's end 1, b: found 0, expected more than 0"},
		{OVERLAID("'y': 'v', 'ratios': [{'of': {'x': 1}, 'to': {'x': 2, 'series': 'b'}}]"),
			"the ratio's end 1: found 2 rows, expected one"},
		{OVERLAID("'y': 'v', 'ratios': [{'of': {'x': 7}, 'to': {'x': 2, 'series': 'b'}}]"),
			"the ratio's end 7: found 0 rows, expected one"},
		{OVERLAID("'y': 'v', 'ratios': [{'of': {'x': 2, 'series': 'b'}, 'to': {'x': 2, "
			  "'series': 'b'}}]"),
			"a ratio of 2, b to itself"},
		{OVERLAID("'y': 'v', 'ratios': [{'of': {'x': 2, 'panel': 'b'}, 'to': {'x': 2}}]"),
			"the ratio's end 2, b: it names a panel, but the figure has none"},
		{OVERLAID("'y': 'v', 'panel': 's', 'ratios': [{'of': {'x': 2, 'panel': 'a'}, 'to': "
			  "{'x': 2, 'panel': 'b'}}]"),
			"the ratio's ends 2, a and 2, b are in two panels"},
		{OVERLAID("'y': 'v', 'ratios': [{'of': {'x': 1, 'series': 'a'}, 'to': {'x': 2, "
			  "'series': 'b'}, 'digits': 7}]"),
			"found 7 digits, expected at most 6"},
		{OVERLAID("'y': 'v', 'ratios': [{'of': {'x': 1, 'series': 'a'}}]"), "\"to\""},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_text text;
		assert_false(draw(cases[i].scenario, 0, &text));
		if (!strstr(text.data, cases[i].expected))
			fail_msg("found \"%s\", expected \"%s\"", text.data, cases[i].expected);
		al_text_finish(&text);
	}
}

/* A band without a width, the widest and the highest page. */
static void draws_what_is_at_a_limit(void **state)
{
	static const char *const scenarios[] = {
		OVERLAID("'y': 'v', 'bands': [{'low': 'v', 'high': 'v'}]"),
		OVERLAID("'y': 'v', 'width': 1440, 'height': 72"),
		OVERLAID("'y': 'v', 'width': 72, 'height': 1440"),
	};

	(void)state;
	for (size_t i = 0; i < N_OF(scenarios); i++) {
		struct al_text text;
		if (!draw(scenarios[i], 0, &text))
			fail_msg("%s", text.data);
		al_text_finish(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_heat_maps),
		cmocka_unit_test(joins_what_stands_beneath),
		cmocka_unit_test(keeps_colors),
		cmocka_unit_test(takes_given_colors),
		cmocka_unit_test(refuses_what_cannot_be_drawn),
		cmocka_unit_test(draws_what_is_at_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
