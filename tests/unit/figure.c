/* Figures: what is drawn agrees with the table and stays inside the axes. */
#include "unit.h"

#include <math.h>

#include "drawing.h"
#include "figure/palette.h"

static const double tolerance_pt = 0.1;

/* ---- lines ---- */

enum { N_HEADS = 128, N_VARIANTS = 7 };

static const struct svg_shape *curve_of(const struct drawing *d, size_t series)
{
	struct marks marks;

	find_marks(d, 0, series, true, &marks);
	assert_int_equal(marks.n, 1);
	return marks.items[0];
}

static double distance_to_segment(struct svg_point p, struct svg_point a, struct svg_point b)
{
	double dx = b.x - a.x, dy = b.y - a.y;
	double along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / fmax(1e-12, dx * dx + dy * dy);

	along = fmin(1, fmax(0, along));
	return hypot(p.x - a.x - along * dx, p.y - a.y - along * dy);
}

/* cairo joins segments that lie on one straight line, so a value need not be a corner of the
 * curve. */
static double distance_to_curve(struct svg_point p, const struct svg_shape *curve)
{
	double nearest = INFINITY;

	for (size_t i = 1; i < curve->n_points; i++)
		nearest = fmin(nearest,
			distance_to_segment(p, curve->points[i - 1], curve->points[i]));
	return nearest;
}

static void check_curve(const struct drawing *d, size_t series, const struct calibration *x,
	const struct calibration *y)
{
	const struct svg_shape *curve = curve_of(d, series);

	for (size_t i = 0; i < N_HEADS; i++) {
		size_t row = series * N_HEADS + i;
		struct svg_point p = {place(x, cell(d, row, "n_heads")),
			place(y, cell(d, row, "parameters"))};
		assert_true(distance_to_curve(p, curve) < tolerance_pt);
	}
	assert_true(lies_within(&curve->box, &d->frames[0]));
}

/* Each marker sits on a row of its own series. */
static void check_markers(const struct drawing *d, size_t series, const struct calibration *x,
	const struct calibration *y)
{
	struct marks markers;

	find_marks(d, 0, series, false, &markers);
	assert_true(markers.n >= 3);
	for (size_t i = 0; i < markers.n; i++) {
		struct svg_point center = svg_center(&markers.items[i]->box);
		double heads = round(value_at(x, center.x));
		double parameters = cell(d, series * N_HEADS + (size_t)heads - 1, "parameters");
		assert_true(fabs(center.x - place(x, heads)) < tolerance_pt);
		assert_true(fabs(center.y - place(y, parameters)) < tolerance_pt);
		assert_true(lies_within(&markers.items[i]->box, &d->frames[0]));
	}
}

/* Series 0 is MHA: its first and last point span the plot. */
static void check_scaling(const char *id, bool x_is_log, bool y_is_log)
{
	struct drawing d;

	open_drawing(&d, id);
	assert_int_equal(d.n_frames, 1);
	const struct svg_shape *mha = curve_of(&d, 0);
	const struct svg_point *first = mha->points, *last = mha->points + mha->n_points - 1;
	struct calibration x = calibrate(x_is_log, 1, first->x, N_HEADS, last->x);
	struct calibration y = calibrate(y_is_log, 12288, first->y, 201326592, last->y);
	for (size_t series = 0; series < N_VARIANTS; series++) {
		check_curve(&d, series, &x, &y);
		check_markers(&d, series, &x, &y);
	}
	close_drawing(&d);
}

static void lines_agree_with_the_table(void **state)
{
	(void)state;
	check_scaling("mhe-figure-1", false, false);
	check_scaling("mhe-figure-3-log", true, true);
	check_scaling("mhe-figure-3-semilog", false, true);
	check_scaling("mhe-figure-3-legend", false, false);
}

/* MQA (2) and EL-ATT (3) run 0.7 pt apart at most: they differ in dash and in where markers sit. */
static void coinciding_lines_both_show(void **state)
{
	struct drawing d;
	struct marks a, b;

	(void)state;
	open_drawing(&d, "mhe-figure-1");
	assert_true(curve_of(&d, 2)->is_dashed && curve_of(&d, 3)->is_dashed);
	find_marks(&d, 0, 2, false, &a);
	find_marks(&d, 0, 3, false, &b);
	for (size_t i = 0; i < a.n; i++)
		for (size_t k = 0; k < b.n; k++)
			assert_false(svg_boxes_meet(&a.items[i]->box, &b.items[k]->box));
	close_drawing(&d);
}

/* The grid lies at multiples of 50M: the axis says what the curves say. */
static void grid_lies_at_round_values(void **state)
{
	struct drawing d;
	size_t n = 0;

	(void)state;
	open_drawing(&d, "mhe-figure-1");
	const struct svg_shape *mha = curve_of(&d, 0);
	const struct svg_point *first = mha->points, *last = mha->points + mha->n_points - 1;
	struct calibration y = calibrate(false, 12288, first->y, 201326592, last->y);
	for (size_t i = 0; i < d.svg.n_shapes; i++) {
		const struct svg_shape *line = &d.svg.shapes[i];
		if (!has_color(line->stroke, al_color_grid))
			continue;
		double value = 50e6 * (double)n++;
		assert_true(fabs(value_at(&y, line->points[0].y) - value) < 1e5);
	}
	assert_int_equal(n, 5);
	close_drawing(&d);
}

/* Ticks begin at the axis and lie outside of it. */
static void ticks_point_outwards(void **state)
{
	struct drawing d;
	size_t n_x = 0, n_y = 0;

	(void)state;
	open_drawing(&d, "mhe-figure-1");
	const struct svg_box *frame = &d.frames[0];
	for (size_t i = 0; i < d.svg.n_shapes; i++) {
		const struct svg_shape *line = &d.svg.shapes[i];
		if (!has_color(line->stroke, al_color_axis) || line->n_points != 2)
			continue;
		const bool is_x = line->box.right - line->box.left < 0.01;
		assert_true(is_x ? fabs(line->box.top - frame->bottom) < 0.01
				 : fabs(line->box.right - frame->left) < 0.01);
		n_x += is_x;
		n_y += !is_x;
	}
	assert_true(n_x > 2 && n_y > 2);
	close_drawing(&d);
}

static size_t count_strokes(const struct drawing *d, size_t frame, struct al_color color)
{
	size_t n = 0;

	for (size_t i = 0; i < d->svg.n_shapes; i++)
		n += has_color(d->svg.shapes[i].stroke, color)
			&& lies_within(&d->svg.shapes[i].box, &d->frames[frame]);
	return n;
}

/* In each panel, on its own x: three faint strands, their mean, and the area of the null's two. */
static void strands_lie_below_their_mean(void **state)
{
	struct drawing d;
	struct marks marks;

	(void)state;
	open_drawing(&d, "strands");
	assert_int_equal(d.n_frames, 2);
	for (size_t panel = 0; panel < 2; panel++) {
		const struct svg_box *frame = &d.frames[panel];
		assert_int_equal(count_strokes(&d, panel, al_series_tint(0)), 3);
		find_marks(&d, panel, 0, true, &marks);
		assert_int_equal(marks.n, 1);
		const struct svg_shape *mean = marks.items[0];
		struct svg_point last = mean->points[mean->n_points - 1];
		assert_true(last.x > frame->right - 5);

		/* Its end is the mean of .2, .3 and .7; the null's area ends at .8 and 1. */
		find_marks(&d, panel, 1, false, &marks);
		const struct svg_box *band = NULL;
		for (size_t i = 0; i < marks.n; i++)
			if (marks.items[i]->box.right - marks.items[i]->box.left > 100)
				band = &marks.items[i]->box;
		assert_non_null(band);
		double unit = (last.y - band->top) / (1 - .4);
		assert_true(band->top >= frame->top && band->top < frame->top + 5);
		struct calibration y = calibrate(false, 1, band->top, .4, last.y);
		size_t n = 0;
		static const double ticks[] = {0, .5, .9, 1};
		for (size_t i = 0; i < d.svg.n_shapes; i++) {
			const struct svg_shape *line = &d.svg.shapes[i];
			if (has_color(line->stroke, al_color_grid)
				&& lies_within(&line->box, frame))
				assert_true(fabs(place(&y, ticks[n++]) - line->points[0].y)
					< 0.01 * unit);
		}
		assert_int_equal(n, 4);
	}
	close_drawing(&d);
}

static void scores_on_a_log_axis(void **state)
{
	struct drawing d;
	struct marks lines, markers;

	(void)state;
	open_drawing(&d, "bleu");
	find_marks(&d, 0, 0, true, &lines);
	assert_int_equal(lines.n, 1);
	const struct svg_shape *line = lines.items[0];
	assert_int_equal(line->n_points, 5);
	struct calibration x = calibrate(true, 32, line->points[0].x, 1024, line->points[4].x);
	struct calibration y = calibrate(false, 25.5, line->points[0].y, 27.8, line->points[4].y);
	for (size_t series = 0; series < 2; series++) {
		find_marks(&d, 0, series, false, &markers);
		assert_int_equal(markers.n, series == 0 ? 5 : 4);
		for (size_t i = 0; i < markers.n; i++) {
			size_t row = series * 5 + 4 - i; /* the table runs downwards */
			struct svg_point center = svg_center(&markers.items[i]->box);
			assert_true(
				fabs(center.x - place(&x, cell(&d, row, "d_k"))) < tolerance_pt);
			assert_true(
				fabs(center.y - place(&y, cell(&d, row, "bleu"))) < tolerance_pt);
		}
	}
	close_drawing(&d);
}

/* ---- bars ---- */

/* Rows run variant by variant, layers by layers, 32 and 64 heads in turn. */
static void check_grouped_panel(const struct drawing *d, size_t panel, double pt_per_parameter)
{
	const struct svg_box *frame = &d->frames[panel];
	double previous_right = -INFINITY;

	for (size_t layers = 0; layers < 3; layers++)
		for (size_t series = 0; series < N_VARIANTS; series++) {
			struct marks bars;
			find_marks(d, panel, series, false, &bars);
			assert_int_equal(bars.n, 3);
			const struct svg_box *bar = &bars.items[layers]->box;
			double value = cell(d, series * 6 + layers * 2 + panel, "parameters");
			assert_true(fabs(bar->bottom - bar->top - value * pt_per_parameter)
				< tolerance_pt);
			assert_true(fabs(bar->bottom - frame->bottom) < 0.01);
			assert_true(lies_within(bar, frame));
			assert_true(bar->left >= previous_right);
			previous_right = bar->right;
		}
}

static void grouped_bars_agree_with_the_table(void **state)
{
	static const char *const ids[] = {"mhe-figure-4", "mhe-figure-4-page"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct drawing d;
		struct marks mha;
		open_drawing(&d, ids[i]);
		assert_int_equal(d.n_frames, 2);
		find_marks(&d, 1, 0, false, &mha);
		const struct svg_box *tallest = &mha.items[2]->box;
		double pt_per_parameter = (tallest->bottom - tallest->top) / 2415919104;
		check_grouped_panel(&d, 0, pt_per_parameter);
		check_grouped_panel(&d, 1, pt_per_parameter);
		close_drawing(&d);
	}
}

static const struct svg_box *box_of(const struct svg *svg, const char *text)
{
	for (size_t i = 0; i < svg->n_texts; i++)
		if (strcmp(svg->texts[i].text, text) == 0)
			return &svg->texts[i].box;
	return NULL;
}

static bool has_text(const struct drawing *d, const char *text)
{
	return box_of(&d->svg, text);
}

/* 3, -9, nothing, 7.5, -2, 0 and 11, from the top down: to both sides of one line. */
static void lying_bars_agree_with_the_table(void **state)
{
	static const double values[] = {3, -9, 7.5, -2, 0, 11};
	struct drawing d;
	struct marks bars;

	(void)state;
	open_drawing(&d, "lying-negative");
	find_marks(&d, 0, 0, false, &bars);
	assert_int_equal(bars.n, 6);
	const double zero = bars.items[0]->box.left;
	const double pt = (bars.items[0]->box.right - zero) / 3;
	for (size_t i = 0; i < 6; i++) {
		const struct svg_box *bar = &bars.items[i]->box;
		assert_true(fabs(bar->right - fmax(zero, zero + values[i] * pt)) < tolerance_pt);
		assert_true(fabs(bar->left - fmin(zero, zero + values[i] * pt)) < tolerance_pt);
		assert_true(i == 0 || bar->top > bars.items[i - 1]->box.bottom);
	}
	assert_true(has_text(&d, "7.5") && has_text(&d, "\u22129"));
	close_drawing(&d);
}

/* Above a bar that stands, beneath one that hangs. */
static void values_stand_beyond_their_bars(void **state)
{
	struct figure_case of;
	struct al_table table;
	struct al_text text;
	struct svg svg;
	struct svg_box ends[2] = {{0}};

	(void)state;
	of = *figure_case_open("negative", &table);
	of.figure.writes_values = true;
	draw_case(&of, &table, AL_FIGURE_SVG, &text);
	assert_true(svg_read(&svg, text.data));
	for (size_t i = 0; i < svg.n_shapes; i++) {
		const struct svg_box *box = &svg.shapes[i].box;
		if (!has_color(svg.shapes[i].fill, al_series_color(0)))
			continue;
		/* 11 is the highest, -9 reaches the lowest */
		if (ends[0].bottom == 0 || box->top < ends[0].top)
			ends[0] = *box;
		if (box->bottom > ends[1].bottom)
			ends[1] = *box;
	}
	assert_true(box_of(&svg, "11")->bottom < ends[0].top + 2);
	assert_true(box_of(&svg, "\u22129")->top > ends[1].bottom - 2);
	svg_finish(&svg);
	al_text_finish(&text);
	al_table_finish(&table);
}

/* In each panel the highest bar, MHA's of 48 layers, reaches most of the way up, though one stands
 * for four times as many parameters as the other. */
static void free_axes_fill_each_panel(void **state)
{
	struct drawing d;
	struct marks mha;

	(void)state;
	open_drawing(&d, "free-axes");
	assert_int_equal(d.n_frames, 2);
	assert_true(d.frames[1].top > d.frames[0].bottom);
	for (size_t panel = 0; panel < 2; panel++) {
		const struct svg_box *frame = &d.frames[panel];
		find_marks(&d, panel, 0, false, &mha);
		assert_int_equal(mha.n, 3);
		const struct svg_box *bar = &mha.items[2]->box;
		assert_true(bar->bottom - bar->top > 0.7 * (frame->bottom - frame->top));
	}
	close_drawing(&d);
}

static bool is_stem(const struct svg_shape *line, const struct svg_box *bar)
{
	const struct svg_point center = svg_center(&line->box);

	return line->box.right - line->box.left < 1e-6 && center.x > bar->left
		&& center.x < bar->right;
}

/* Of 10 +- 2 the bar is as high as 10, and its error bar as 4, about the bar's top. */
static void error_bars_are_as_long_as_the_spread(void **state)
{
	struct drawing d;
	struct marks bars;
	size_t n = 0;

	(void)state;
	open_drawing(&d, "spreads");
	find_marks(&d, 0, 0, false, &bars);
	assert_int_equal(bars.n, 2);
	const double pt = (bars.items[0]->box.bottom - bars.items[0]->box.top) / 10;
	for (size_t i = 0; i < d.svg.n_shapes; i++)
		for (size_t k = 0; k < 2; k++) {
			const struct svg_shape *line = &d.svg.shapes[i];
			const struct svg_box *bar = &bars.items[k]->box;
			if (!has_color(line->stroke, al_color_ink) || !is_stem(line, bar))
				continue;
			assert_true(
				fabs(line->box.bottom - line->box.top - 4 * pt / (double)(k + 1))
				< 0.1);
			assert_true(fabs(svg_center(&line->box).y - bar->top) < 0.1);
			n++;
		}
	assert_int_equal(n, 2);
	close_drawing(&d);
}

/* The axis begins a whole power below the least value: at 10, so that 100 has a height. */
static void log_bars_begin_a_power_below(void **state)
{
	struct drawing d;
	struct marks bars;
	double heights[3];

	(void)state;
	open_drawing(&d, "log-powers");
	find_marks(&d, 0, 0, false, &bars);
	assert_int_equal(bars.n, 3);
	for (size_t i = 0; i < 3; i++)
		heights[i] = bars.items[i]->box.bottom - bars.items[i]->box.top;
	assert_true(heights[0] > 10);
	assert_true(fabs(heights[1] - 2 * heights[0]) < tolerance_pt);
	assert_true(fabs(heights[2] - 3 * heights[0]) < tolerance_pt);
	close_drawing(&d);
}

static void stacked_bars_agree_with_the_table(void **state)
{
	struct drawing d;
	struct marks parts[4];

	(void)state;
	open_drawing(&d, "table-13");
	for (size_t part = 0; part < 4; part++) {
		find_marks(&d, 0, part, false, &parts[part]);
		assert_int_equal(parts[part].n, d.table.n_rows);
	}
	const struct svg_box *mha = &parts[3].items[1]->box;
	double pt_per_byte = (mha->bottom - mha->top) / 25165824;
	for (size_t row = 0; row < d.table.n_rows; row++) {
		double height = 0;
		for (size_t part = 0; part < 4; part++) {
			const struct svg_box *bar = &parts[part].items[row]->box;
			assert_true(fabs(d.frames[0].bottom - height * pt_per_byte - bar->bottom)
				< tolerance_pt);
			height += cell(&d, row, d.figure_case->figure.stacked[part]);
			assert_true(fabs(d.frames[0].bottom - height * pt_per_byte - bar->top)
				< tolerance_pt);
			assert_true(lies_within(bar, &d.frames[0]));
		}
	}
	close_drawing(&d);
}

/* ---- points ---- */

static void points_agree_with_the_table(void **state)
{
	struct drawing d;
	struct marks points;

	(void)state;
	open_drawing(&d, "scores");
	find_marks(&d, 0, 0, false, &points);
	assert_int_equal(points.n, d.table.n_rows);
	struct svg_point sha = svg_center(&points.items[0]->box),
			 mha = svg_center(&points.items[1]->box);
	struct calibration x = calibrate(false, 8.85e6, sha.x, 28.31e6, mha.x);
	struct calibration y = calibrate(false, 79.6, sha.y, 81.9, mha.y);
	for (size_t row = 0; row < d.table.n_rows; row++) {
		struct svg_point center = svg_center(&points.items[row]->box);
		assert_true(fabs(center.x - place(&x, cell(&d, row, "parameters"))) < tolerance_pt);
		assert_true(fabs(center.y - place(&y, cell(&d, row, "glue"))) < tolerance_pt);
		assert_true(lies_within(&points.items[row]->box, &d.frames[0]));
		for (size_t i = 0; i < d.svg.n_texts; i++)
			assert_false(svg_boxes_meet(&points.items[row]->box, &d.svg.texts[i].box));
	}
	close_drawing(&d);
}

/* ---- marks and axes ---- */

static bool is_mark(const struct svg_shape *shape)
{
	for (size_t color = 0; color < AL_FIGURE_N_COLORS; color++)
		if (has_color(shape->fill, al_series_color(color))
			|| has_color(shape->stroke, al_series_color(color)))
			return true;
	return false;
}

/* A legend's samples are outside of all frames, and one series has none; no mark is half inside,
 * though values may be. */
static void marks_lie_inside_the_axes(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_figure_cases; i++) {
		struct drawing d;
		size_t n_inside = 0, n_outside = 0;
		open_drawing(&d, figure_cases[i].id);
		for (size_t k = 0; k < d.svg.n_shapes; k++)
			for (size_t f = 0; f < d.n_frames && is_mark(&d.svg.shapes[k]); f++) {
				const struct svg_box *box = &d.svg.shapes[k].box;
				if (f > 0 && lies_within(&d.frames[f], &d.frames[0]))
					continue; /* an inset stands among the boxes of curves */
				bool is_inside = lies_within(box, &d.frames[f]);
				assert_true(is_inside || !svg_boxes_meet(box, &d.frames[f]));
				n_inside += is_inside;
				n_outside += !is_inside;
			}
		assert_true(n_inside > 0);
		assert_true(n_outside == 0 || d.n_frames > 1 || figure_cases[i].figure.series
			|| figure_cases[i].figure.n_stacked);
		close_drawing(&d);
	}
}

/* All of 32; of more every second or third. */
static void few_of_many_strands_are_drawn(void **state)
{
	static const size_t drawn[][2] = {{32, 32}, {33, 17}, {64, 32}, {65, 22}};

	(void)state;
	for (size_t i = 0; i < sizeof(drawn) / sizeof(*drawn); i++) {
		const struct al_figure figure = {.id = "f",
			.mark = "line",
			.x = {.column = "x"},
			.y = {.column = "y"},
			.strands = {.column = "strand"}};
		struct al_table table;
		struct al_text text;
		struct svg svg;
		size_t n = 0;
		al_table_init(&table, "t", "");
		al_table_add_column(&table, (struct al_column){.key = "strand", .is_key = true});
		al_table_add_column(&table, (struct al_column){.key = "x", .is_key = true});
		al_table_add_column(&table, (struct al_column){.key = "y"});
		for (int64_t strand = 0; strand < (int64_t)drawn[i][0]; strand++)
			for (int64_t x = 0; x < 2; x++) {
				struct al_cell *row = al_table_add_row(&table);
				al_cell_set_text(&table, &row[0],
					al_format(&table.arena, "s%d", (int)strand));
				al_cell_set_int(&table, &row[1], x);
				al_cell_set_int(&table, &row[2], strand * x);
			}
		al_text_init(&text);
		assert_true(al_figure_draw(&figure, &table, AL_FIGURE_SVG, &text, NULL));
		assert_true(svg_read(&svg, text.data));
		for (size_t k = 0; k < svg.n_shapes; k++)
			n += has_color(svg.shapes[k].stroke, al_series_tint(0));
		assert_int_equal(n, drawn[i][1]);
		svg_finish(&svg);
		al_text_finish(&text);
		al_table_finish(&table);
	}
}

/* Points at 3, 6, 9 of these heights, but those that are NAN, in a panel with a title of two lines;
 * svg_finish must follow. */
static void draw_heights(const double y[3], bool is_log, struct svg *svg)
{
	const struct al_figure figure = {.id = "f",
		.mark = "point",
		.x = {.column = "x", .scale = is_log ? AL_AXIS_LOG : AL_AXIS_LINEAR},
		.y = {.column = "y", .scale = is_log ? AL_AXIS_LOG : AL_AXIS_LINEAR},
		.panel = "panel"};
	struct al_table table;
	struct al_text text;

	al_table_init(&table, "t", "");
	al_table_add_column(&table, (struct al_column){.key = "panel", .is_key = true});
	al_table_add_column(&table, (struct al_column){.key = "x", .is_key = true});
	al_table_add_column(&table, (struct al_column){.key = "y"});
	for (int i = 0; i < 3; i++) {
		if (isnan(y[i]))
			continue;
		struct al_cell *row = al_table_add_row(&table);
		al_cell_set_text(&table, &row[0], "two\nlines");
		al_cell_set_int(&table, &row[1], 3 * (i + 1));
		al_cell_set_real(&row[2], y[i]);
	}
	al_text_init(&text);
	assert_true(al_figure_draw(&figure, &table, AL_FIGURE_SVG, &text, NULL));
	assert_true(svg_read(svg, text.data));
	al_text_finish(&text);
	al_table_finish(&table);
}

/* From a quarter of the largest value on, below zero too. */
static void axes_reach_a_zero_that_is_near(void **state)
{
	static const double near[][3] = {{8, 2, 5}, {-8, -2, -5}}, far[] = {8, 2.1, 5};
	struct svg svg;

	(void)state;
	for (int i = 0; i < 2; i++) {
		draw_heights(near[i], false, &svg);
		assert_non_null(box_of(&svg, "0"));
		svg_finish(&svg);
	}
	draw_heights(far, false, &svg);
	assert_null(box_of(&svg, "0"));
	svg_finish(&svg);
}

static void one_value_stands_in_the_middle(void **state)
{
	static const double one[] = {7, NAN, NAN};

	(void)state;
	for (int is_log = 0; is_log < 2; is_log++) {
		struct svg_point frame = {0}, mark = {0};
		struct svg svg;
		draw_heights(one, is_log, &svg);
		for (size_t i = 0; i < svg.n_shapes; i++) {
			const struct svg_shape *shape = &svg.shapes[i];
			if (has_color(shape->stroke, al_color_axis) && shape->n_points == 3)
				frame = svg_center(&shape->box);
			if (has_color(shape->fill, al_series_color(0)))
				mark = svg_center(&shape->box);
		}
		assert_float_equal(mark.x, frame.x, 0.02);
		assert_float_equal(mark.y, frame.y, 0.02);
		assert_true(box_of(&svg, "two")->top < box_of(&svg, "lines")->top - 5);
		svg_finish(&svg);
	}
}

/* Of a figure 240 pt wide whose legend names n series. */
static double height_of_series(int n)
{
	const struct al_figure figure = {.id = "f",
		.mark = "bar",
		.x = {.column = "x"},
		.y = {.column = "y"},
		.series = "series",
		.width_pt = 240};
	struct al_table table;
	struct al_text text;
	struct svg svg;

	al_table_init(&table, "t", "");
	al_table_add_column(&table, (struct al_column){.key = "series", .is_key = true});
	al_table_add_column(&table, (struct al_column){.key = "x", .is_key = true});
	al_table_add_column(&table, (struct al_column){.key = "y"});
	for (int i = 0; i < n; i++) {
		struct al_cell *row = al_table_add_row(&table);
		al_cell_set_text(&table, &row[0], al_format(&table.arena, "a long name %d", i));
		al_cell_set_int(&table, &row[1], 1);
		al_cell_set_int(&table, &row[2], i + 1);
	}
	al_text_init(&text);
	assert_true(al_figure_draw(&figure, &table, AL_FIGURE_SVG, &text, NULL));
	assert_true(svg_read(&svg, text.data));
	const double height = svg.height;
	svg_finish(&svg);
	al_text_finish(&text);
	al_table_finish(&table);
	return height;
}

static void long_legends_need_height(void **state)
{
	(void)state;
	assert_float_equal(height_of_series(8), 163, 0);
	assert_float_equal(height_of_series(22), 204, 0);
	assert_float_equal(height_of_series(36), 264, 0);
	assert_float_equal(height_of_series(55), 336, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_agree_with_the_table),
		cmocka_unit_test(coinciding_lines_both_show),
		cmocka_unit_test(grid_lies_at_round_values),
		cmocka_unit_test(ticks_point_outwards),
		cmocka_unit_test(scores_on_a_log_axis),
		cmocka_unit_test(grouped_bars_agree_with_the_table),
		cmocka_unit_test(free_axes_fill_each_panel),
		cmocka_unit_test(values_stand_beyond_their_bars),
		cmocka_unit_test(lying_bars_agree_with_the_table),
		cmocka_unit_test(error_bars_are_as_long_as_the_spread),
		cmocka_unit_test(log_bars_begin_a_power_below),
		cmocka_unit_test(stacked_bars_agree_with_the_table),
		cmocka_unit_test(points_agree_with_the_table),
		cmocka_unit_test(marks_lie_inside_the_axes),
		cmocka_unit_test(strands_lie_below_their_mean),
		cmocka_unit_test(few_of_many_strands_are_drawn),
		cmocka_unit_test(axes_reach_a_zero_that_is_near),
		cmocka_unit_test(one_value_stands_in_the_middle),
		cmocka_unit_test(long_legends_need_height),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
