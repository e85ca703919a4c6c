#include "drawing.h"

#include <math.h>

#include "figure/palette.h"
#include "unit.h"

void draw_case(const struct figure_case *c, const struct al_table *table,
	enum al_figure_format format, struct al_text *out)
{
	struct al_figure figure = c->figure;
	struct al_error err = {0};

	figure.id = c->id;
	al_text_init(out);
	if (!al_figure_draw(&figure, table, format, out, &err))
		fail_msg("%s: %s", c->id, err.message);
}

static int to_255(double level)
{
	return (int)lround(level * 255);
}

bool has_color(struct svg_color found, struct al_color wanted)
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

void open_drawing(struct drawing *d, const char *id)
{
	struct al_text text;

	*d = (struct drawing){0};
	d->figure_case = figure_case_open(id, &d->table);
	assert_non_null(d->figure_case);
	draw_case(d->figure_case, &d->table, AL_FIGURE_SVG, &text);
	assert_true(svg_read(&d->svg, text.data));
	al_text_finish(&text);
	find_frames(d);
}

void close_drawing(struct drawing *d)
{
	svg_finish(&d->svg);
	al_table_finish(&d->table);
}

bool lies_within(const struct svg_box *inner, const struct svg_box *outer)
{
	const double slack = 0.01;

	return inner->left >= outer->left - slack && inner->right <= outer->right + slack
		&& inner->top >= outer->top - slack && inner->bottom <= outer->bottom + slack;
}

void find_marks(const struct drawing *d, size_t frame, size_t series, bool is_stroked,
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

struct calibration calibrate(bool is_log, double v0, double p0, double v1, double p1)
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

double place(const struct calibration *c, double value)
{
	return c->offset + c->slope * (c->is_log ? log(value) : value);
}

double value_at(const struct calibration *c, double pt)
{
	double value = (pt - c->offset) / c->slope;

	return c->is_log ? exp(value) : value;
}

double cell(const struct drawing *d, size_t row, const char *key)
{
	double value = NAN;

	(void)!al_cell_number(&d->table.rows[row][al_table_find_column(&d->table, key)], &value);
	return value;
}
