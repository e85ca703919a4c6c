/* Colours, dashes, markers, hatches. */
#include "figure/palette.h"

#include <math.h>

static const struct al_color colors[AL_N_COLORS] = {
	{0x00 / 255., 0x72 / 255., 0xB2 / 255.},   /* blue */
	{0xD5 / 255., 0x5E / 255., 0x00 / 255.},   /* vermilion */
	{0x00 / 255., 0x9E / 255., 0x73 / 255.},   /* bluish green */
	{0xCC / 255., 0x79 / 255., 0xA7 / 255.},   /* reddish purple */
	{0xE6 / 255., 0x9F / 255., 0x00 / 255.},   /* orange */
	{0x56 / 255., 0xB4 / 255., 0xE9 / 255.},   /* sky blue */
	{0x00 / 255., 0x00 / 255., 0x00 / 255.},   /* black */
	{0xF0 / 255., 0xE4 / 255., 0x42 / 255.},   /* yellow: faint on white, so last */
};

enum { MOST_DASHES = 6 };

/* Lengths in pt, on and off in turn. */
static const struct dash {
	double lengths[MOST_DASHES];
	int n;
} dashes[] = {
	{{0}, 0},
	{{5, 2}, 2},
	{{1.2, 1.6}, 2},
	{{7, 1.6, 1.2, 1.6}, 4},
	{{2.8, 1.6}, 2},
	{{9, 1.6, 1.2, 1.6, 1.2, 1.6}, 6},
	{{4, 3.2}, 2},
	{{2, 4}, 2},
};

enum { N_DASHES = sizeof(dashes) / sizeof(*dashes), MOST_CORNERS = 12 };

/* Corners in a box of -1 to 1; a circle has none. */
static const struct marker {
	double corners[MOST_CORNERS][2];
	int n;
	double scale;   /* evens out the areas */
} markers[] = {
	{{{0}}, 0, 1},
	{{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}, 4, 0.88},
	{{{0, -1}, {1, 1}, {-1, 1}}, 3, 1.1},
	{{{0, -1}, {1, 0}, {0, 1}, {-1, 0}}, 4, 1.2},
	{{{-1, -1}, {1, -1}, {0, 1}}, 3, 1.1},
	{{{-.33, -1}, {.33, -1}, {.33, -.33}, {1, -.33}, {1, .33}, {.33, .33}, {.33, 1}, {-.33, 1},
		 {-.33, .33}, {-1, .33}, {-1, -.33}, {-.33, -.33}}, 12, 1.1},
	{{{-1, -1}, {0, -.4}, {1, -1}, {.4, 0}, {1, 1}, {0, .4}, {-1, 1}, {-.4, 0}}, 8, 1.05},
	{{{-1, 0}, {-.5, -1}, {.5, -1}, {1, 0}, {.5, 1}, {-.5, 1}}, 6, 1},
};

enum { N_MARKERS = sizeof(markers) / sizeof(*markers) };

/* A second channel that shifts by one each time the colours have gone round: 64 pairs. */
static size_t second(size_t series, size_t n)
{
	return (series + series / AL_N_COLORS) % n;
}

struct al_color al_series_color(size_t series)
{
	return colors[series % AL_N_COLORS];
}

static double luminance(struct al_color color)
{
	return 0.2126 * pow(color.red, 2.2) + 0.7152 * pow(color.green, 2.2) +
		0.0722 * pow(color.blue, 2.2);
}

/* A contrast of 4.5 to white, the least for small text in WCAG 2, is a luminance of 0.183. */
struct al_color al_series_ink(size_t series)
{
	struct al_color ink = al_series_color(series);
	double factor = pow(fmin(1, 0.183 / fmax(0.001, luminance(ink))), 1 / 2.2);

	return (struct al_color){ink.red * factor, ink.green * factor, ink.blue * factor};
}

void al_series_set_dash(struct al_canvas *canvas, size_t series)
{
	const struct dash *dash = &dashes[second(series, N_DASHES)];

	cairo_set_dash(canvas->cr, dash->lengths, dash->n, 0);
}

double al_series_coverage(size_t series)
{
	const struct dash *dash = &dashes[second(series, N_DASHES)];
	double on = 0, all = 0;

	for (int i = 0; i < dash->n; i++) {
		on += i % 2 == 0 ? dash->lengths[i] : 0;
		all += dash->lengths[i];
	}
	return dash->n ? on / all : 1;
}

static void trace_marker(struct al_canvas *canvas, const struct marker *marker, double x, double y,
	double radius)
{
	cairo_new_path(canvas->cr);
	if (marker->n == 0)
		cairo_arc(canvas->cr, x, y, radius, 0, 2 * G_PI);
	for (int i = 0; i < marker->n; i++)
		cairo_line_to(canvas->cr, x + radius * marker->corners[i][0],
			y + radius * marker->corners[i][1]);
	cairo_close_path(canvas->cr);
}

/* The white rim separates a marker from lines and other markers. */
void al_series_draw_marker(struct al_canvas *canvas, size_t series, double x, double y, double size_pt)
{
	const struct marker *marker = &markers[second(series, N_MARKERS)];

	trace_marker(canvas, marker, x, y, marker->scale * size_pt / 2);
	al_canvas_color(canvas, al_color_white);
	cairo_set_dash(canvas->cr, NULL, 0, 0);
	cairo_set_line_width(canvas->cr, 0.9);
	cairo_stroke_preserve(canvas->cr);
	al_canvas_color(canvas, al_series_color(series));
	cairo_fill(canvas->cr);
}

/* Parallel strokes x*dx + y*dy = c, cut off at the box: no clip, no pattern, in any format the same. */
static void hatch(struct al_canvas *canvas, const struct al_box *box, double dx, double dy)
{
	static const double spacing = 2.8;
	double c0 = fmin(box->left * dx, box->right * dx) + fmin(box->top * dy, box->bottom * dy);
	double c1 = fmax(box->left * dx, box->right * dx) + fmax(box->top * dy, box->bottom * dy);
	double step = spacing * hypot(dx, dy);

	for (double c = (floor(c0 / step) + 0.5) * step; c < c1; c += step) {
		double x0 = box->left, x1 = box->right, y0 = box->top, y1 = box->bottom;
		if (c <= c0)
			continue;
		if (dx == 0) {
			y0 = y1 = c / dy;
		} else if (dy == 0) {
			x0 = x1 = c / dx;
		} else {
			/* dy is 1, so y falls (dx = 1) or rises (dx = -1) along x */
			double xa = (c - box->top) / dx, xb = (c - box->bottom) / dx;
			x0 = fmax(box->left, fmin(xa, xb));
			x1 = fmin(box->right, fmax(xa, xb));
			y0 = c - dx * x0;
			y1 = c - dx * x1;
		}
		cairo_move_to(canvas->cr, x0, y0);
		cairo_line_to(canvas->cr, x1, y1);
	}
	al_canvas_color(canvas, al_color_white);
	cairo_set_dash(canvas->cr, NULL, 0, 0);
	cairo_set_line_width(canvas->cr, 0.6);
	cairo_stroke(canvas->cr);
}

/* Directions of the strokes: up to two; (0, 0): none. */
static const double hatches[][2][2] = {
	{{0, 0}, {0, 0}},
	{{1, 1}, {0, 0}},
	{{0, 1}, {0, 0}},
	{{-1, 1}, {0, 0}},
	{{1, 1}, {-1, 1}},
	{{1, 0}, {0, 0}},
	{{0, 0}, {0, 0}},
	{{1, 0}, {0, 1}},
};

enum { N_HATCHES = sizeof(hatches) / sizeof(*hatches) };

void al_series_draw_bar(struct al_canvas *canvas, size_t series, const struct al_box *box)
{
	const double(*strokes)[2] = hatches[second(series, N_HATCHES)];

	al_canvas_color(canvas, al_series_color(series));
	cairo_rectangle(canvas->cr, box->left, box->top, box->right - box->left, box->bottom - box->top);
	cairo_fill(canvas->cr);
	for (int i = 0; i < 2; i++)
		if (strokes[i][0] != 0 || strokes[i][1] != 0)
			hatch(canvas, box, strokes[i][0], strokes[i][1]);
}
