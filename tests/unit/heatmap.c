/* Heat maps: their colors, their cells, and what is refused. */
#include "unit.h"

#include <math.h>

#include "figure/mark.h"
#include "figure/palette.h"
#include "svg.h"

/* Cells of 3 x 2 from -1 to 4; (1, 1) is missing. */
static void fill_cells(struct al_table *table)
{
	al_table_init(table, "cells", "");
	al_table_add_column(table, (struct al_column){.key = "x"});
	al_table_add_column(table, (struct al_column){.key = "y"});
	al_table_add_column(table, (struct al_column){.key = "v"});
	for (int i = 0; i < 6; i++) {
		struct al_cell *cell = al_table_add_row(table);
		al_cell_set_int(table, &cell[0], i % 3);
		al_cell_set_int(table, &cell[1], i / 3);
		if (i != 4)
			al_cell_set_real(&cell[2], i - 1);
	}
}

static const struct al_figure map = {.id = "map",
	.mark = "heatmap",
	.x = {.column = "x"},
	.y = {.column = "y"},
	.color = {.column = "v"}};

/* Shapes filled with a color; the box of the largest one. */
static size_t count_cells(const struct svg *svg, struct al_color color, struct svg_box *largest)
{
	size_t n = 0;

	*largest = (struct svg_box){0};
	for (size_t i = 0; i < svg->n_shapes; i++) {
		const struct svg_box *box = &svg->shapes[i].box;
		if (!svg_color_is(svg->shapes[i].fill, (int)lround(color.red * 255),
			    (int)lround(color.green * 255), (int)lround(color.blue * 255)))
			continue;
		if (box->right - box->left > largest->right - largest->left)
			*largest = *box;
		n++;
	}
	return n;
}

static void cells_have_their_colors(void **state)
{
	struct svg_box first = {0}, last = {0}, unused = {0};
	struct al_table table;
	struct al_text text;
	struct svg svg;

	(void)state;
	fill_cells(&table);
	al_text_init(&text);
	assert_true(al_figure_draw(&map, &table, AL_FIGURE_SVG, &text, NULL));
	assert_true(svg_read(&svg, text.data));
	assert_int_equal(count_cells(&svg, al_ramp_color(0, false), &first), 1);
	assert_int_equal(count_cells(&svg, al_ramp_color(1, false), &last), 1);
	/* the missing cell's number would be 3, 0.8 of the range */
	assert_int_equal(count_cells(&svg, al_ramp_color(0.8, false), &unused), 0);
	/* (0, 0) at the bottom left, (2, 1) at the top right */
	assert_true(first.left < last.left && first.bottom > last.bottom);
	assert_true(fabs((first.right - first.left) - (last.right - last.left)) < 0.01);
	svg_finish(&svg);
	al_text_finish(&text);
	al_table_finish(&table);
}

/* ---- what is written and drawn in cells ---- */

/* The map of fill_cells as text, read; svg_finish and al_text_finish must follow. */
static void draw_map(struct al_text *text, struct svg *svg)
{
	struct al_figure figure = map;
	struct al_table table;

	figure.writes_values = true;
	fill_cells(&table);
	al_text_init(text);
	assert_true(al_figure_draw(&figure, &table, AL_FIGURE_SVG, text, NULL));
	assert_true(svg_read(svg, text->data));
	al_table_finish(&table);
}

static struct svg_box cell_of(const struct svg *svg, int value)
{
	struct svg_box box;

	/* a step of the color bar may have this color too */
	assert_true(count_cells(svg, al_ramp_color((value + 1) / 5., false), &box) >= 1);
	return box;
}

/* The one text in a cell. */
static const char *text_in(const struct svg *svg, const struct svg_box *cell)
{
	const struct svg_text *found = NULL;

	for (size_t i = 0; i < svg->n_texts; i++) {
		const struct svg_box *box = &svg->texts[i].box;
		if (!svg_boxes_meet(box, cell))
			continue;
		assert_null(found);
		assert_true(box->left > cell->left && box->right < cell->right
			&& box->top > cell->top && box->bottom < cell->bottom);
		found = &svg->texts[i];
	}
	assert_non_null(found);
	return found->text;
}

static void values_stand_in_their_cells(void **state)
{
	static const char *const texts[] = {"−1.00", ".00", "1.00", "2.00", NULL, "4.00"};
	struct al_text text;
	struct svg svg;

	(void)state;
	draw_map(&text, &svg);
	for (int i = 0; i < 6; i++)
		if (texts[i]) {
			const struct svg_box cell = cell_of(&svg, i - 1);
			assert_string_equal(text_in(&svg, &cell), texts[i]);
		}
	svg_finish(&svg);
	al_text_finish(&text);
}

/* To two decimals, without a zero before the point; what rounds to zero has no sign. */
static void values_are_short(void **state)
{
	static const double values[] = {-0.004, 0.006, -0.006, 0.125, -0.997, 99.5};
	static const char *const texts[] = {">.00<", ">.01<", ">\u2212.01<", ">.12<",
		">\u22121.00<", ">99.50<"};
	struct al_figure figure = map;
	struct al_table table;
	struct al_text text;

	(void)state;
	figure.writes_values = true;
	fill_cells(&table);
	for (size_t i = 0; i < 6; i++)
		al_cell_set_real(&table.rows[i][2], values[i]);
	al_text_init(&text);
	assert_true(al_figure_draw(&figure, &table, AL_FIGURE_SVG, &text, NULL));
	for (size_t i = 0; i < 6; i++)
		if (!strstr(text.data, texts[i]))
			fail_msg("no text %s", texts[i]);
	al_text_finish(&text);
	al_table_finish(&table);
}

/* Clips that begin where the cell does; none of them goes on behind it. */
static size_t count_clips(const char *text, const struct svg_box *cell)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, "<svg x=")); at++) {
		double left, top, width, height;
		assert_int_equal(sscanf(at, "<svg x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"",
					 &left, &top, &width, &height),
			4);
		if (fabs(left - cell->left) > 0.3 || fabs(top - cell->top) > 0.3)
			continue;
		n += left + width < cell->right + 0.3 && top + height < cell->bottom + 0.3;
	}
	return n;
}

/* (1, 1) lies between (0, 1) and (2, 1). */
static void a_missing_cell_is_hatched(void **state)
{
	struct al_text text;
	struct svg svg;

	(void)state;
	draw_map(&text, &svg);
	const struct svg_box before = cell_of(&svg, 2), after = cell_of(&svg, 4);
	const struct svg_box missing = {before.right, before.top, after.left, before.bottom};
	assert_true(count_clips(text.data, &missing) > 0);
	svg_finish(&svg);
	al_text_finish(&text);
}

static void the_color_bar_has_an_outline(void **state)
{
	size_t n = 0;
	struct al_text text;
	struct svg svg;

	(void)state;
	draw_map(&text, &svg);
	for (size_t i = 0; i < svg.n_shapes; i++) {
		const struct svg_shape *shape = &svg.shapes[i];
		n += shape->stroke.red >= 0 && fabs(shape->box.right - shape->box.left - 72) < 0.2
			&& shape->box.bottom - shape->box.top > 2
			&& shape->box.bottom - shape->box.top < 12;
	}
	assert_int_equal(n, 1);
	svg_finish(&svg);
	al_text_finish(&text);
}

/* The bar reaches half to both sides of the one value that all cells have. */
static void cells_of_one_value_have_the_middle_color(void **state)
{
	struct svg_box unused;
	struct al_table table;
	struct al_text text;
	struct svg svg;

	(void)state;
	fill_cells(&table);
	for (int i = 0; i < 6; i++)
		al_cell_set_real(&table.rows[i][2], 4);
	al_text_init(&text);
	assert_true(al_figure_draw(&map, &table, AL_FIGURE_SVG, &text, NULL));
	assert_true(svg_read(&svg, text.data));
	assert_true(strstr(text.data, ">3.5<") && strstr(text.data, ">4.5<"));
	assert_true(count_cells(&svg, al_ramp_color(0.5, false), &unused) >= 1);
	svg_finish(&svg);
	al_text_finish(&text);
	al_table_finish(&table);
}

static double luminance(struct al_color c)
{
	return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
}

/* Columns of the first row stand beneath each panel, those of one group on a line. */
static void fill_beneath(struct al_table *table)
{
	static const char *const names[] = {"left", "right"};
	static const double norms[][2] = {{0.5, 1.25}, {-2, NAN}};

	al_table_init(table, "cells", "");
	al_table_add_column(table, (struct al_column){.key = "x"});
	al_table_add_column(table, (struct al_column){.key = "y"});
	al_table_add_column(table, (struct al_column){.key = "v"});
	al_table_add_column(table, (struct al_column){.key = "side"});
	al_table_add_column(table, (struct al_column){.key = "kind", .title = "of kind"});
	al_table_add_column(table,
		(struct al_column){.key = "a", .title = "least", .group = "Norm", .digits = 2});
	al_table_add_column(table,
		(struct al_column){.key = "b", .title = "largest", .group = "Norm", .digits = 1});
	for (int i = 0; i < 8; i++) {
		struct al_cell *cell = al_table_add_row(table);
		al_cell_set_int(table, &cell[0], i % 2);
		al_cell_set_int(table, &cell[1], i / 2 % 2);
		al_cell_set_real(&cell[2], i - 4);
		al_cell_set_text(table, &cell[3], names[i / 4]);
		al_cell_set_text(table, &cell[4], names[i / 4]);
		al_cell_set_real(&cell[5], norms[i / 4][0]);
		if (i < 4)
			al_cell_set_real(&cell[6], norms[0][1]);
	}
}

static void groups_stand_on_lines(void **state)
{
	static const char *const columns[] = {"kind", "a", "b"},
				 *const expected[2][2] = {{"of kind left",
								  "Norm: least 0.50, largest 1.2"},
					 {"of kind right",
						 "Norm: least \u22122.00, largest \u2013"}};
	struct al_figure figure = map;
	struct al_table table;
	struct al_plot plot;

	(void)state;
	figure.panel = "side";
	figure.beneath = columns;
	figure.n_beneath = 3;
	fill_beneath(&table);
	assert_true(al_plot_init(&plot, &figure, &table, NULL));
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(plot.beneath[i].n_lines, 2);
		for (size_t k = 0; k < 2; k++)
			assert_string_equal(plot.beneath[i].lines[k], expected[i][k]);
	}
	al_arena_finish(&plot.arena);
	al_table_finish(&table);
}

static void ramps_say_more_and_less(void **state)
{
	(void)state;
	for (int i = 1; i <= 100; i++)
		assert_true(luminance(al_ramp_color(i / 100., false))
			> luminance(al_ramp_color((i - 1) / 100., false)));
	for (int i = 1; i <= 50; i++) {
		assert_true(luminance(al_ramp_color(i / 100., true))
			> luminance(al_ramp_color((i - 1) / 100., true)));
		assert_true(luminance(al_ramp_color(1 - i / 100., true))
			> luminance(al_ramp_color(1 - (i - 1) / 100., true)));
	}
	assert_true(luminance(al_ramp_color(0.5, true)) == 1);
	assert_true(al_ramp_color(0.1, true).blue > al_ramp_color(0.1, true).red);
	assert_true(al_ramp_color(0.9, true).red > al_ramp_color(0.9, true).blue);
	assert_true(luminance(al_ramp_color(7, false)) == luminance(al_ramp_color(1, false)));
}

static void assert_refused(const struct al_figure *figure, const struct al_table *table,
	const char *message)
{
	struct al_error err;
	struct al_text text;

	al_text_init(&text);
	assert_false(al_figure_draw(figure, table, AL_FIGURE_SVG, &text, &err));
	assert_string_equal(err.message, message);
	al_text_finish(&text);
}

static void refuses_what_has_no_color(void **state)
{
	struct al_reference_line line = {.value = 1};
	struct al_figure figure = map;
	struct al_table table;

	(void)state;
	fill_cells(&table);
	figure.color.column = NULL;
	assert_refused(&figure, &table, "figure \"map\": a heatmap needs the column of its colors");
	figure = map;
	figure.mark = "point";
	assert_refused(&figure, &table, "figure \"map\": only a heatmap has a column of colors");
	figure = map;
	figure.series = "v";
	assert_refused(&figure, &table,
		"figure \"map\": \"series\" needs lines, bars or points, found heatmap");
	figure = map;
	figure.references = &line;
	figure.n_references = 1;
	assert_refused(&figure, &table,
		"figure \"map\": \"references\" need lines, bars or points, found heatmap");
	figure = map;
	figure.x.scale = AL_AXIS_LOG;
	assert_refused(&figure, &table, "figure \"map\": a heatmap can't have a log axis");
	for (size_t row = 0; row < table.n_rows; row++)
		table.rows[row][2].kind = AL_CELL_MISSING;
	assert_refused(&map, &table,
		"figure \"map\": nothing to draw: no cell has a number for its color");
	al_table_finish(&table);
}

/* Two cells of a map in two hues, from -1 to 1: how many lines are drawn. */
static size_t count_lines(double value)
{
	struct al_figure figure = map;
	struct al_table table;
	struct al_text text;
	size_t n = 0;

	fill_cells(&table);
	for (int i = 0; i < 6; i++)
		al_cell_set_real(&table.rows[i][2], i ? 0.5 : value);
	figure.is_diverging = true;
	figure.color.has_min = figure.color.has_max = true;
	figure.color.min = -1;
	figure.color.max = 1;
	al_text_init(&text);
	assert_true(al_figure_draw(&figure, &table, AL_FIGURE_SVG, &text, NULL));
	for (const char *at = text.data; (at = strstr(at, "stroke-width")); at++)
		n++;
	al_text_finish(&text);
	al_table_finish(&table);
	return n;
}

/* Of a hundred steps those below 46 have one; zero is at 50. */
static void negative_cells_have_a_dash(void **state)
{
	const size_t n = count_lines(0.1);

	(void)state;
	assert_int_equal(count_lines(0), n);
	assert_int_equal(count_lines(-0.08), n);
	assert_int_equal(count_lines(-0.1), n + 1);
	assert_int_equal(count_lines(-1), n + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_have_their_colors),
		cmocka_unit_test(values_stand_in_their_cells),
		cmocka_unit_test(values_are_short),
		cmocka_unit_test(a_missing_cell_is_hatched),
		cmocka_unit_test(the_color_bar_has_an_outline),
		cmocka_unit_test(cells_of_one_value_have_the_middle_color),
		cmocka_unit_test(groups_stand_on_lines),
		cmocka_unit_test(ramps_say_more_and_less),
		cmocka_unit_test(refuses_what_has_no_color),
		cmocka_unit_test(negative_cells_have_a_dash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
