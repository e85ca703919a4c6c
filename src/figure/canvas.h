/* A canvas: one page in memory that takes lines, shapes and text.
 *
 * Lengths are points (1/72 inch), y grows downwards. Text is measured without hinting, so that a
 * layout holds for all formats and doesn't depend on the desktop's settings. */
#pragma once

#include <cairo.h>
#include <pango/pangocairo.h>

#include "figure/figure.h"

/* A color, each part from 0 to 1 (sRGB). */
struct al_color {
	double red, green, blue;
	bool is_value; /* it encodes a number, and is the same on light pages and on dark ones */
};

/* The same hue for a dark page: grays and pale colors change places with dark ones, strong
 * colors become light enough to be seen (color.c). */
struct al_color al_color_on_dark(struct al_color color);

struct al_box {
	double left, top, right, bottom;
};

struct al_segment {
	double x0, y0, x1, y1;
};

enum al_font {
	AL_FONT_TICK, /* 7 pt unless the figure sets it: tick labels, legends, labels at marks */
	AL_FONT_TITLE, /* 8 pt: titles of axes and panels */
	AL_FONT_HEADING, /* 8 pt bold: the figure's title */
	AL_N_FONTS,
};

enum al_align { AL_ALIGN_LEFT, AL_ALIGN_CENTER };

/* A piece of text and the place that it takes. */
struct al_label {
	const char *text;
	enum al_font font;
	enum al_align align; /* of the lines of a wrapped text */
	double wrap_pt; /* lines are broken at this width; 0: never */
	bool is_vertical; /* reads upwards */
	struct al_color color;
	struct al_box box;
};

enum { AL_MOST_COLORS = 64 };

struct al_canvas {
	enum al_figure_format format;
	double width_pt, height_pt;
	struct al_text *out; /* the caller's */
	const char *title;
	cairo_surface_t *surface;
	cairo_t *cr; /* in SVG it holds the path alone, and how lines are drawn */
	struct al_text svg; /* its elements so far */
	struct al_color colors[AL_MOST_COLORS]; /* of it, that follow the page */
	size_t n_colors;
	struct al_color color;
	double alpha;
	double sizes_pt[AL_N_FONTS];
	double rises_pt[AL_N_FONTS]; /* so that figures are in the middle of their line */
	PangoLayout *layouts[AL_N_FONTS];
	char family[64]; /* that it is lettered in */
	double line_heights_pt[AL_N_FONTS], /* 0: not measured yet */
		advances_pt[128]; /* likewise, of ASCII in the tick font */
};

extern const struct al_color al_color_ink, al_color_axis, al_color_grid, al_color_leader,
	al_color_white;

bool al_box_meets(const struct al_box *a, const struct al_box *b);

/* Cuts the segment to its part within the box; false where there is none. */
bool al_segment_clip(struct al_segment *s, const struct al_box *box);

/* A page of the figure's width and this height. `out` is written to until the canvas is finished,
 * which must follow either way. */
bool al_canvas_begin(struct al_canvas *canvas, const struct al_figure *figure, double height_pt,
	enum al_figure_format format, struct al_text *out, struct al_error *err) AL_MUST_CHECK;
bool al_canvas_end(struct al_canvas *canvas, struct al_error *err) AL_MUST_CHECK;
void al_canvas_finish(struct al_canvas *canvas);

/* What a canvas that has begun letters in (lettering.c). */
void al_canvas_make_fonts(struct al_canvas *canvas, const struct al_lettering *lettering);

void al_canvas_color(struct al_canvas *canvas, struct al_color color);

/* A color through which what is below shows. */
void al_canvas_glass(struct al_canvas *canvas, struct al_color color, double alpha);

/* The context's path, filled or stroked, is used up; "paint" keeps it. */
void al_canvas_fill(struct al_canvas *canvas);
void al_canvas_stroke(struct al_canvas *canvas);
void al_canvas_paint(struct al_canvas *canvas, bool is_stroke);
void al_canvas_fill_box(struct al_canvas *canvas, const struct al_box *box);
void al_canvas_stroke_box(struct al_canvas *canvas, const struct al_box *box, double width_pt,
	struct al_color color);

/* Clips what is drawn in between to the box. */
void al_canvas_begin_clip(struct al_canvas *canvas, const struct al_box *box);
void al_canvas_end_clip(struct al_canvas *canvas);

/* Strokes a straight line. */
void al_canvas_line(struct al_canvas *canvas, double x0, double y0, double x1, double y1,
	double width_pt, struct al_color color);

/* SVG (svg.c): the context's path, filled or stroked, which stays; what is cut off at a box until
 * the end of it; a label, laid out, whose bytes have these levels (typeset.h); the document. */
void al_canvas_add_svg_path(struct al_canvas *canvas, bool is_stroke);
void al_canvas_begin_svg_clip(struct al_canvas *canvas, const struct al_box *box);
void al_canvas_add_svg_text(struct al_canvas *canvas, const struct al_label *label,
	PangoLayout *layout, const char *levels);
void al_canvas_write_svg(const struct al_canvas *canvas);

/* The width of a text in the tick font; quick. */
double al_canvas_tick_width(struct al_canvas *canvas, const char *text);

/* A text in the tick font. */
struct al_label al_tick_label(const char *text);

double al_line_height(struct al_canvas *canvas, enum al_font font);

struct al_size {
	double width_pt, height_pt;
};

/* The size of a label, turned if it is vertical. */
struct al_size al_label_measure(struct al_canvas *canvas, const struct al_label *label);

/* A box of this size whose point (across, down), 0 to 1 of its size, lies at (x, y). */
struct al_box al_box_at(struct al_size size, double x, double y, double across, double down);

/* Sets the label's box so that its point (across, down), 0 to 1 of its size, lies at (x, y). */
void al_label_put(struct al_canvas *canvas, struct al_label *label, double x, double y,
	double across, double down);

void al_label_draw(struct al_canvas *canvas, const struct al_label *label);
