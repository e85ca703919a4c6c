/* A figure of figure_cases, drawn and read again. */
#pragma once

#include "figure/canvas.h"
#include "figure_cases.h"
#include "svg.h"

/* Fails the test where the figure can't be drawn; al_text_finish must follow. */
void draw_case(const struct figure_case *c, const struct al_table *table,
	enum al_figure_format format, struct al_text *out);

struct drawing {
	const struct figure_case *figure_case;
	struct al_table table;
	struct svg svg;
	struct svg_box *frames;
	size_t n_frames;
};

void open_drawing(struct drawing *d, const char *id);
void close_drawing(struct drawing *d);

bool has_color(struct svg_color found, struct al_color wanted);
bool lies_within(const struct svg_box *inner, const struct svg_box *outer);

/* Shapes in a series' color within a frame, in the order of drawing. */
struct marks {
	const struct svg_shape *items[1024];
	size_t n;
};

void find_marks(const struct drawing *d, size_t frame, size_t series, bool is_stroked,
	struct marks *out);

/* A straight line from values (or their logarithms) to places. */
struct calibration {
	bool is_log;
	double slope, offset;
};

struct calibration calibrate(bool is_log, double v0, double p0, double v1, double p1);
double place(const struct calibration *c, double value);
double value_at(const struct calibration *c, double pt);

/* The number in a row of the table. */
double cell(const struct drawing *d, size_t row, const char *key);
