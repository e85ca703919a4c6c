/* Figures: what is drawn agrees with the table, stays inside the axes, and no text meets
 * another. */
#include "unit.h"

#include <math.h>
#define ZLIB_CONST
#include <zlib.h>

#include "figure/palette.h"
#include "figure_cases.h"
#include "svg.h"

static const double tolerance_pt = 0.1;

/* ---- drawing and reading ---- */

static void draw(const struct figure_case *c, const struct al_table *table,
	enum al_figure_format format, struct al_text *out)
{
	struct al_figure figure = c->figure;
	struct al_error err = {0};

	figure.id = c->id;
	al_text_init(out);
	if (!al_figure_draw(&figure, table, format, out, &err))
		fail_msg("%s", err.message);
}

struct drawing {
	const struct figure_case *figure_case;
	struct al_table table;
	struct svg svg;
	struct svg_box *frames;
	size_t n_frames;
};

static int to_255(double level)
{
	return (int)lround(level * 255);
}

static bool has_color(struct svg_color found, struct al_color wanted)
{
	return svg_color_is(found, to_255(wanted.red), to_255(wanted.green), to_255(wanted.blue));
}

/* A frame is the path of its two spines. */
static void find_frames(struct drawing *d)
{
	d->frames = al_new_array(&d->svg.arena, struct svg_box, d->svg.n_shapes);
	for (size_t i = 0; i < d->svg.n_shapes; i++)
		if (has_color(d->svg.shapes[i].stroke, al_color_axis)
			&& d->svg.shapes[i].n_points == 3)
			d->frames[d->n_frames++] = d->svg.shapes[i].box;
}

static void open_drawing(struct drawing *d, const char *id)
{
	struct al_text text;

	*d = (struct drawing){0};
	d->figure_case = figure_case_open(id, &d->table);
	assert_non_null(d->figure_case);
	draw(d->figure_case, &d->table, AL_FIGURE_SVG, &text);
	assert_true(svg_read(&d->svg, text.data));
	al_text_finish(&text);
	find_frames(d);
}

static void close_drawing(struct drawing *d)
{
	svg_finish(&d->svg);
	al_table_finish(&d->table);
}

static bool lies_within(const struct svg_box *inner, const struct svg_box *outer)
{
	const double slack = 0.01;

	return inner->left >= outer->left - slack && inner->right <= outer->right + slack
		&& inner->top >= outer->top - slack && inner->bottom <= outer->bottom + slack;
}

/* Shapes in a series' colour within a frame, in the order of drawing. */
struct marks {
	const struct svg_shape *items[1024];
	size_t n;
};

static void find_marks(const struct drawing *d, size_t frame, size_t series, bool is_stroked,
	struct marks *out)
{
	struct al_color color = al_series_color(series);

	out->n = 0;
	for (size_t i = 0; i < d->svg.n_shapes; i++) {
		const struct svg_shape *shape = &d->svg.shapes[i];
		if (has_color(is_stroked ? shape->stroke : shape->fill, color)
			&& svg_boxes_meet(&shape->box, &d->frames[frame]))
			out->items[out->n++] = shape;
	}
}

/* ---- values and places ---- */

/* A straight line from values (or their logarithms) to places. */
struct calibration {
	bool is_log;
	double slope, offset;
};

static struct calibration calibrate(bool is_log, double v0, double p0, double v1, double p1)
{
	struct calibration c = {.is_log = is_log};

	if (is_log) {
		v0 = log(v0);
		v1 = log(v1);
	}
	c.slope = (p1 - p0) / (v1 - v0);
	c.offset = p0 - c.slope * v0;
	return c;
}

static double place(const struct calibration *c, double value)
{
	return c->offset + c->slope * (c->is_log ? log(value) : value);
}

static double value_at(const struct calibration *c, double pt)
{
	double value = (pt - c->offset) / c->slope;

	return c->is_log ? exp(value) : value;
}

static double cell(const struct drawing *d, size_t row, const char *key)
{
	double value = NAN;

	(void)!al_cell_number(&d->table.rows[row][al_table_find_column(&d->table, key)], &value);
	return value;
}

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
	for (size_t color = 0; color < AL_N_COLORS; color++)
		if (has_color(shape->fill, al_series_color(color))
			|| has_color(shape->stroke, al_series_color(color)))
			return true;
	return false;
}

/* A legend's samples are outside of all frames; no mark is half inside, though values may be. */
static void marks_lie_inside_the_axes(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_figure_cases; i++) {
		struct drawing d;
		size_t n_inside = 0;
		open_drawing(&d, figure_cases[i].id);
		for (size_t k = 0; k < d.svg.n_shapes; k++)
			for (size_t f = 0; f < d.n_frames && is_mark(&d.svg.shapes[k]); f++) {
				const struct svg_box *box = &d.svg.shapes[k].box;
				bool is_inside = lies_within(box, &d.frames[f]);
				assert_true(is_inside || !svg_boxes_meet(box, &d.frames[f]));
				n_inside += is_inside;
			}
		assert_true(n_inside > 0);
		close_drawing(&d);
	}
}

/* ---- text ---- */

static void check_text(const struct svg *svg)
{
	const struct svg_box page = {0, 0, svg->width, svg->height};

	for (size_t i = 0; i < svg->n_texts; i++) {
		assert_true(lies_within(&svg->texts[i].box, &page));
		for (size_t j = 0; j < i; j++)
			assert_false(svg_boxes_meet(&svg->texts[i].box, &svg->texts[j].box));
	}
}

static void no_text_meets_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_figure_cases; i++) {
		struct drawing d;
		open_drawing(&d, figure_cases[i].id);
		assert_true(d.svg.n_texts >= 8);
		check_text(&d.svg);
		close_drawing(&d);
	}
}

/* Names of slots stand beneath the ticks, 2.5 pt long. */
static void names_keep_off_the_ticks(void **state)
{
	static const char *const ids[] = {"names", "log-powers", "negative"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct drawing d;
		size_t n = 0;
		open_drawing(&d, ids[i]);
		for (size_t k = 0; k < d.svg.n_texts; k++) {
			const struct svg_box *box = &d.svg.texts[k].box;
			if (svg_center(box).y < d.frames[0].bottom || box->right < d.frames[0].left)
				continue;
			assert_true(box->top > d.frames[0].bottom + 3.5);
			n++;
		}
		assert_true(n >= 3);
		close_drawing(&d);
	}
}

/* Whatever the size: a figure, or an error, never a muddle. Returns whether it was drawn. */
static bool holds_at(const struct figure_case *c, const struct al_table *table, double width,
	double height)
{
	struct al_figure figure = c->figure;
	struct al_error err = {0};
	struct al_text text;
	struct svg svg;

	figure.id = c->id;
	figure.width_pt = width;
	figure.height_pt = height;
	al_text_init(&text);
	bool is_drawn = al_figure_draw(&figure, table, AL_FIGURE_SVG, &text, &err);
	if (is_drawn) {
		assert_true(svg_read(&svg, text.data));
		check_text(&svg);
		svg_finish(&svg);
	} else {
		assert_int_equal(err.status, AL_EINPUT);
		assert_int_equal(text.length, 0);
	}
	al_text_finish(&text);
	return is_drawn;
}

static void any_size_holds(void **state)
{
	static const double widths[] = {72, 96, 120, 160, 200, 320, 504, 1000};

	(void)state;
	for (size_t i = 0; i < n_figure_cases; i++) {
		struct al_table table;
		const struct figure_case *c = figure_case_open(figure_cases[i].id, &table);
		for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
			bool is_drawn = holds_at(c, &table, widths[w], 0.7 * widths[w]);
			assert_true(is_drawn || widths[w] < 200 || c->is_hard);
			(void)holds_at(c, &table, widths[w], 72);
			(void)holds_at(c, &table, 72, widths[w]);
		}
		al_table_finish(&table);
	}
}

/* ---- any table ---- */

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static double random_value(uint64_t *random)
{
	switch (next_random(random) % 12) {
	case 0:
		return 0;
	case 1:
		return -(double)(next_random(random) % 1000);
	case 2:
		return ldexp(1, (int)(next_random(random) % 80) - 20);
	case 3:
		return 1e6 + next_random(random) % 100 * 1e-4;
	case 4:
		return next_random(random) % 2 ? -1e99 : 5e-324;
	default:
		return next_random(random) % 100000 / (1.0 + next_random(random) % 100);
	}
}

static void fill_random(struct al_table *table, uint64_t *random)
{
	static const char *const names[] = {"", "MHA", "grouped-query attention",
		"\xff is no UTF-8", "\u6ce8\u610f", "0123456789012345678901234567890123456789",
		"tab\tand\nline"};
	size_t n_rows = next_random(random) % 40;

	al_table_init(table, "random", "random");
	al_table_add_column(table,
		(struct al_column){.key = "name", .title = names[next_random(random) % 7]});
	al_table_add_column(table, (struct al_column){.key = "x", .quantity = AL_QUANTITY_PLAIN});
	al_table_add_column(table,
		(struct al_column){.key = "y",
			.unit = "tokens",
			.quantity = (enum al_quantity)(next_random(random) % 4)});
	for (size_t row = 0; row < n_rows; row++) {
		struct al_cell *cells = al_table_add_row(table);
		al_cell_set_text(table, &cells[0], names[next_random(random) % 7]);
		al_cell_set_real(&cells[1], (double)row);
		if (next_random(random) % 8)
			al_cell_set_real(&cells[2], random_value(random));
	}
}

static void any_table_holds(void **state)
{
	size_t n_drawn = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct al_reference_line line = {1000, "budget"};
		struct figure_case c = {.id = "random"};
		struct al_table table;
		uint64_t random = seed * 7919;
		fill_random(&table, &random);
		c.figure.mark = al_figure_marks[next_random(&random) % 3];
		c.figure.x.column = "x";
		c.figure.y = (struct al_axis){.column = "y",
			.scale = next_random(&random) % 4 ? AL_AXIS_LINEAR : AL_AXIS_LOG,
			.has_max = next_random(&random) % 4 == 0,
			.max = 5000};
		c.figure.series = next_random(&random) % 2 ? "name" : NULL;
		c.figure.label = strcmp(c.figure.mark, "point") == 0 ? "name" : NULL;
		c.figure.references = &line;
		c.figure.n_references = next_random(&random) % 2;
		n_drawn += holds_at(&c, &table, 120 + next_random(&random) % 400, 0);
		al_table_finish(&table);
	}
	assert_true(n_drawn >= 50);
}

/* ---- bytes ---- */

static void same_input_gives_same_bytes(void **state)
{
	struct al_text first[64][3];

	(void)state;
	assert_true(n_figure_cases <= 64);
	for (int round = 0; round < 2; round++)
		for (size_t k = 0; k < n_figure_cases; k++) {
			/* the second time in the other order */
			size_t i = round ? n_figure_cases - 1 - k : k;
			struct al_table table;
			const struct figure_case *c = figure_case_open(figure_cases[i].id, &table);
			for (int format = 0; format < 3; format++) {
				struct al_text again;
				draw(c, &table, (enum al_figure_format)format,
					round ? &again : &first[i][format]);
				if (round == 0)
					continue;
				assert_int_equal(again.length, first[i][format].length);
				assert_memory_equal(again.data, first[i][format].data,
					again.length);
				al_text_finish(&again);
				al_text_finish(&first[i][format]);
			}
			al_table_finish(&table);
		}
}

static bool holds_bytes(const struct al_text *text, const char *wanted)
{
	size_t length = strlen(wanted);

	for (size_t i = 0; i + length <= text->length; i++)
		if (memcmp(text->data + i, wanted, length) == 0)
			return true;
	return false;
}

static void inflate_stream(struct al_text *out, const char *from, size_t length)
{
	z_stream z = {.next_in = (const unsigned char *)from, .avail_in = (unsigned)length};
	unsigned char piece[4096];
	int status = inflateInit(&z);

	while (status == Z_OK) {
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		status = inflate(&z, Z_NO_FLUSH);
		al_text_add_bytes(out, (const char *)piece, sizeof(piece) - z.avail_out);
	}
	inflateEnd(&z);
}

/* The PDF and what its compressed streams hold: newer cairos keep objects in them. */
static void read_pdf(struct al_text *out, const struct al_text *pdf)
{
	static const char begin[] = "stream\n";

	al_text_init(out);
	al_text_add_bytes(out, pdf->data, pdf->length);
	for (size_t i = 0; i + strlen(begin) <= pdf->length; i++)
		if (memcmp(pdf->data + i, begin, strlen(begin)) == 0)
			inflate_stream(out, pdf->data + i + strlen(begin),
				pdf->length - i - strlen(begin));
}

static void pdf_embeds_outline_fonts(void **state)
{
	struct al_table table;
	struct al_text file, pdf;

	(void)state;
	draw(figure_case_open("mhe-figure-3-legend", &table), &table, AL_FIGURE_PDF, &file);
	assert_memory_equal(file.data, "%PDF-1.", 7);
	read_pdf(&pdf, &file);
	al_text_finish(&file);
	assert_true(holds_bytes(&pdf, "/FontFile2"));
	assert_true(holds_bytes(&pdf, "+DejaVuSans"));
	assert_false(holds_bytes(&pdf, "/Type3"));
	/* cairo 1.18 leaves "D:" out and writes seconds */
	assert_true(holds_bytes(&pdf, "/CreationDate ("));
	assert_true(holds_bytes(&pdf, "200001010000"));
	al_text_finish(&pdf);
	al_table_finish(&table);
}

static uint32_t big_endian(const char *bytes)
{
	const unsigned char *b = (const unsigned char *)bytes;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Signature, IHDR (13 bytes of data, 12 around them), pHYs: 300 dpi are 11811 pixels a metre. */
static void png_has_300_dpi(void **state)
{
	struct al_table table;
	struct al_text png;

	(void)state;
	draw(figure_case_open("mhe-figure-1", &table), &table, AL_FIGURE_PNG, &png);
	assert_memory_equal(png.data, "\x89PNG\r\n\x1a\n", 8);
	assert_int_equal(big_endian(png.data + 16), 1000);
	assert_int_equal(big_endian(png.data + 20), 679);
	assert_memory_equal(png.data + 37, "pHYs", 4);
	assert_int_equal(big_endian(png.data + 41), 11811);
	assert_int_equal(big_endian(png.data + 45), 11811);
	al_text_finish(&png);
	al_table_finish(&table);
}

/* ---- refusals ---- */

static const struct refusal {
	const char *of;
	struct al_figure figure;
	const char *message;
} refusals[] = {
	{"mhe-figure-1", {.mark = "lines"}, "unknown mark \"lines\" (did you mean \"line\"?)"},
	{"mhe-figure-1", {.mark = "line", .y = {.column = "parameter"}},
		"unknown column \"parameter\" (did you mean \"parameters\"?)"},
	{"mhe-figure-1", {.mark = "line", .x = {.column = "n_heads"}, .y = {.column = "variant"}},
		"nothing to draw: no row has numbers for both axes"},
	{"mhe-figure-1", {.mark = "bar", .x = {.column = "n_heads"}},
		"two rows (1 and 129) for 1, expected one"},
	{"mhe-figure-1", {.mark = "line", .label = "variant"},
		"\"label\" needs the mark point, found line"},
	{"mhe-figure-1", {.mark = "line", .width_pt = 5000},
		"a figure's width of 5000 pt, expected 72 to 1440"},
	{"mhe-figure-1", {.mark = "line", .series = "variant", .y = {.has_min = true, .min = 3e8}},
		"the y axis runs from 3e+08 to 2.01327e+08, expected a range upwards"},
	{"mhe-figure-1",
		{.mark = "line", .series = "variant", .y = {.scale = AL_AXIS_LOG, .has_min = true}},
		"the log y axis begins at 0, expected more than 0"},
	{"table-13", {.mark = "bar", .n_stacked = 1, .stacked = {"weights"}, .series = "variant"},
		"either \"stacked\" or \"series\" (\"variant\"), not both"},
	{"table-13",
		{.mark = "bar",
			.n_stacked = 1,
			.stacked = {"weights"},
			.y = {.scale = AL_AXIS_LOG}},
		"stacked bars have no meaning on a log axis"},
	{"negative", {.mark = "line", .x = {.column = "x"}, .y = {.scale = AL_AXIS_LOG}},
		"the log y axis has the value -9, expected only positive ones"},
};

static void refuses_what_it_cannot_draw(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		struct al_figure figure = refusals[i].figure;
		struct al_error err = {0};
		struct al_table table;
		struct al_text text;
		char message[300];
		assert_non_null(figure_case_open(refusals[i].of, &table));
		figure.id = "f";
		al_text_init(&text);
		assert_false(al_figure_draw(&figure, &table, AL_FIGURE_PDF, &text, &err));
		snprintf(message, sizeof(message), "figure \"f\": %s", refusals[i].message);
		assert_string_equal(err.message, message);
		assert_int_equal(err.status, AL_EINPUT);
		assert_int_equal(text.length, 0);
		al_text_finish(&text);
		al_table_finish(&table);
	}
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
		cmocka_unit_test(log_bars_begin_a_power_below),
		cmocka_unit_test(stacked_bars_agree_with_the_table),
		cmocka_unit_test(points_agree_with_the_table),
		cmocka_unit_test(marks_lie_inside_the_axes),
		cmocka_unit_test(no_text_meets_another),
		cmocka_unit_test(names_keep_off_the_ticks),
		cmocka_unit_test(any_size_holds),
		cmocka_unit_test(any_table_holds),
		cmocka_unit_test(strands_lie_below_their_mean),
		cmocka_unit_test(same_input_gives_same_bytes),
		cmocka_unit_test(pdf_embeds_outline_fonts),
		cmocka_unit_test(png_has_300_dpi),
		cmocka_unit_test(refuses_what_it_cannot_draw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
