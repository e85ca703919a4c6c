/* What is laid over marks: insets, bands, ratios. */
#include "unit.h"

#include <math.h>

#include "drawing.h"
#include "figure/palette.h"

static const double tolerance_pt = 0.1;

static bool has_text(const struct drawing *d, const char *text)
{
	for (size_t i = 0; i < d->svg.n_texts; i++)
		if (strcmp(d->svg.texts[i].text, text) == 0)
			return true;
	return false;
}

/* ---- insets ---- */

static void an_inset_stands_within_the_frame(void **state)
{
	struct drawing d;
	struct marks outer, inner;

	(void)state;
	open_drawing(&d, "inset");
	assert_int_equal(d.n_frames, 2);
	assert_true(lies_within(&d.frames[1], &d.frames[0]));
	/* MHA ends at the right of both; in the inset at 3 * 12^2 * 64^2 = 1.77M, and so a tick
	 * at 0.8M is there. */
	find_marks(&d, 1, 0, true, &inner);
	assert_true(inner.n > 0);
	const struct svg_shape *curve = inner.items[inner.n - 1];
	assert_true(lies_within(&curve->box, &d.frames[1]));
	assert_true(curve->box.right > d.frames[1].right - 6);
	find_marks(&d, 0, 0, true, &outer);
	assert_true(outer.n >= 2);
	assert_true(has_text(&d, "0.8M"));
	close_drawing(&d);
}

/* MHE-ADD and MHE-MUL alone. */
static void an_inset_shows_its_points_alone(void **state)
{
	struct drawing d;
	struct marks points;

	(void)state;
	open_drawing(&d, "inset-of-points");
	assert_int_equal(d.n_frames, 2);
	/* of the free places the nearest to them */
	assert_true(d.frames[1].left < (d.frames[0].left + d.frames[0].right) / 3);
	find_marks(&d, 1, 0, false, &points);
	assert_int_equal(points.n, 2);
	find_marks(&d, 0, 0, false, &points);
	assert_int_equal(points.n, 9);
	close_drawing(&d);
}

/* ---- bands ---- */

static void bands_let_what_they_cover_shine_through(void **state)
{
	struct al_text drawn;
	struct al_table table;

	(void)state;
	draw_case(figure_case_open("bands", &table), &table, AL_FIGURE_SVG, &drawn);
	assert_non_null(strstr(drawn.data, " opacity=\"0.35\""));
	al_text_finish(&drawn);
	al_table_finish(&table);
}

static size_t find_areas(const struct drawing *d, size_t series, const struct svg_shape *out[4])
{
	struct marks marks;
	size_t n = 0;

	find_marks(d, 0, series, false, &marks);
	for (size_t i = 0; i < marks.n && n < 4; i++)
		if (marks.items[i]->box.right - marks.items[i]->box.left > 20)
			out[n++] = marks.items[i];
	return n;
}

/* Of 9 and 27 the areas reach from 8.1 to 10.8 and from 24.3 to 32.4; they part at 4. */
static void bands_reach_what_their_columns_say(void **state)
{
	struct drawing d;
	struct marks lines;

	(void)state;
	open_drawing(&d, "bands");
	for (size_t series = 0; series < 2; series++) {
		const struct svg_shape *areas[4];
		find_marks(&d, 0, series, true, &lines);
		const struct svg_shape *line = lines.items[lines.n - 1];
		const double scale = series == 0 ? 1 : 3;
		struct calibration y = calibrate(false, scale, line->box.bottom, 9 * scale,
			line->box.top);
		assert_int_equal(find_areas(&d, series, areas), 2);
		assert_true(areas[0]->box.right < areas[1]->box.left);
		assert_true(fabs(areas[1]->box.top - place(&y, 10.8 * scale)) < tolerance_pt);
		assert_true(fabs(areas[1]->box.bottom - place(&y, 4.5 * scale)) < tolerance_pt);
		assert_true(fabs(areas[0]->box.bottom - place(&y, 0.9 * scale)) < tolerance_pt);
	}
	close_drawing(&d);
}

static void a_band_lies_between_two_lines(void **state)
{
	const struct svg_shape *areas[4];
	struct drawing d;
	struct marks low, high;

	(void)state;
	open_drawing(&d, "band-between");
	find_marks(&d, 0, 0, true, &low);
	find_marks(&d, 0, 1, true, &high);
	assert_int_equal(find_areas(&d, 0, areas), 0);
	assert_int_equal(find_areas(&d, 1, areas), 1);
	assert_true(fabs(areas[0]->box.top - high.items[high.n - 1]->box.top) < tolerance_pt);
	assert_true(fabs(areas[0]->box.bottom - low.items[low.n - 1]->box.bottom) < tolerance_pt);
	close_drawing(&d);
}

/* ---- ratios ---- */

static const struct {
	const char *id, *label;
} ratios[] = {
	{"outlier", "6.5625\u00d7"}, /* 87.5 of 40/3 */
	{"outlier", "4.35\u00d7"}, /* 87.5 of 20.1 is 4.3532 */
	{"ratio-of-stacks", "1.81\u00d7"}, /* 72351744 of 39911424 bytes */
	{"ratio-of-lines", "3.0\u00d7"}, /* 3n^2 d^2 of n^2 d^2 */
};

static void ratios_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++) {
		struct drawing d;
		open_drawing(&d, ratios[i].id);
		if (!has_text(&d, ratios[i].label))
			fail_msg("%s has no %s", ratios[i].id, ratios[i].label);
		close_drawing(&d);
	}
}

/* From the level of the higher bar's end to the lower one's; the label may stand upon it. */
static void an_arrow_joins_two_levels(void **state)
{
	struct drawing d;
	struct marks bars;
	bool begins = false, ends = false;

	(void)state;
	open_drawing(&d, "outlier");
	find_marks(&d, 0, 0, false, &bars);
	for (size_t i = 0; i < d.svg.n_shapes; i++) {
		const struct svg_shape *line = &d.svg.shapes[i];
		const struct svg_box *third = &bars.items[5]->box;
		if (!has_color(line->stroke, al_color_ink) || line->n_points != 2
			|| fabs(line->box.left - (third->left + third->right) / 2) > tolerance_pt)
			continue;
		begins |= fabs(line->box.top - bars.items[4]->box.top) < tolerance_pt;
		ends |= fabs(line->box.bottom - third->top) < tolerance_pt;
	}
	assert_true(begins && ends);
	close_drawing(&d);
}

/* The arrow is the same whichever end is divided by the other: 6.5625 times, or 0.1524 times. */
static void a_ratio_may_be_less_than_one(void **state)
{
	static const struct al_ratio both[] = {{{.x = "random"}, {.x = "third"}, 4},
		{{.x = "third"}, {.x = "random"}, 4}};
	struct figure_case of;
	struct al_table table;
	struct svg svgs[2];

	(void)state;
	of = *figure_case_open("outlier", &table);
	of.figure.n_ratios = 1;
	for (int i = 0; i < 2; i++) {
		struct al_text text;
		of.figure.ratios = &both[i];
		draw_case(&of, &table, AL_FIGURE_SVG, &text);
		assert_true(svg_read(&svgs[i], text.data));
		assert_non_null(strstr(text.data, i ? "0.1524\u00d7" : "6.5625\u00d7"));
		al_text_finish(&text);
	}
	assert_int_equal(svgs[0].n_shapes, svgs[1].n_shapes);
	for (size_t i = 0; i < svgs[0].n_shapes; i++)
		assert_memory_equal(&svgs[0].shapes[i].box, &svgs[1].shapes[i].box,
			sizeof(struct svg_box));
	svg_finish(&svgs[0]);
	svg_finish(&svgs[1]);
	al_table_finish(&table);
}

/* ---- captions ---- */

static void captions_tell_what_was_laid_over(void **state)
{
	static const struct {
		const char *id, *sentence;
	} cases[] = {
		{"inset", "The inset enlarges what lies between 1 and 12 along x."},
		{"bands", "Shaded areas reach from Low to High."},
		{"band-between", "The shaded area lies between high and low."},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_table table;
		struct al_text caption;
		struct al_error err = {0};
		const struct figure_case *c = figure_case_open(cases[i].id, &table);
		al_text_init(&caption);
		if (!al_figure_caption(&c->figure, &table, &caption, &err))
			fail_msg("%s", err.message);
		if (!strstr(caption.data, cases[i].sentence))
			fail_msg("%s: found \"%s\"", cases[i].id, caption.data);
		al_text_finish(&caption);
		al_table_finish(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_inset_stands_within_the_frame),
		cmocka_unit_test(an_inset_shows_its_points_alone),
		cmocka_unit_test(bands_let_what_they_cover_shine_through),
		cmocka_unit_test(bands_reach_what_their_columns_say),
		cmocka_unit_test(a_band_lies_between_two_lines),
		cmocka_unit_test(ratios_are_exact),
		cmocka_unit_test(an_arrow_joins_two_levels),
		cmocka_unit_test(a_ratio_may_be_less_than_one),
		cmocka_unit_test(captions_tell_what_was_laid_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
