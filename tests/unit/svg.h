/* A reader of the SVG of figures: paths of M, l, h, v, c and z, texts, parts that are cut off.
 * Everything comes out in the page's coordinates (pt, y downwards). */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

struct svg_point {
	double x, y;
};

struct svg_box {
	double left, top, right, bottom;
};

struct svg_color {
	int red, green, blue; /* 0 to 255; -1: not painted */
};

struct svg_shape {
	struct svg_color fill, stroke;
	double stroke_width;
	bool is_dashed;
	struct svg_point *points; /* ends of the path's segments */
	size_t n_points;
	struct svg_box box; /* of the path, curves included, without the stroke's width */
};

/* A line of text. */
struct svg_text {
	struct svg_color color;
	const char *text; /* as it stands in the file */
	struct svg_box box; /* as wide as it says, from the ascenders to the descenders */
};

struct svg {
	struct al_arena arena;
	double width, height;
	struct svg_shape *shapes;
	size_t n_shapes, shapes_room;
	struct svg_text *texts;
	size_t n_texts, texts_room;
};

/* False where the text isn't such an SVG; svg_finish must follow either way. */
bool svg_read(struct svg *svg, const char *text);
void svg_finish(struct svg *svg);

bool svg_color_is(struct svg_color color, int red, int green, int blue);
bool svg_boxes_meet(const struct svg_box *a, const struct svg_box *b);
struct svg_point svg_center(const struct svg_box *box);
