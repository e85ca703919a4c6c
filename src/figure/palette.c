/* Colors, dashes, markers, hatches. */
#include "figure/palette.h"

/* The hues of Okabe & Ito 2008, of lightnesses (CIE L*) that differ, so that they differ in gray
 * print and to readers who see no red or green: the first four, of which stacked bars are made, by
 * steps of ten at least. */
static const struct al_color colors[AL_FIGURE_N_COLORS] = {
	{0x00 / 255., 0x46 / 255., 0x7C / 255., false}, /* blue, 29 */
	{0xC8 / 255., 0x58 / 255., 0x00 / 255., false}, /* vermilion, 51 */
	{0x2D / 255., 0xB2 / 255., 0x87 / 255., false}, /* bluish green, 65 */
	{0xF0 / 255., 0xB5 / 255., 0x38 / 255., false}, /* orange, 77 */
	{0x98 / 255., 0x41 / 255., 0x78 / 255., false}, /* reddish purple, 41 */
	{0x9A / 255., 0xD8 / 255., 0xF8 / 255., false}, /* sky blue, 83 */
	{0x1A / 255., 0x1A / 255., 0x1A / 255., false}, /* black, 9 */
	{0xF0 / 255., 0xE4 / 255., 0x42 / 255., false}, /* yellow, 90: faint on white, so last */
};

/* ---- ramps ---- */

/* Evenly spaced on each ramp, in between linear. */
static const struct al_color cividis[] = {
	{0 / 255., 32 / 255., 77 / 255., true},
	{0 / 255., 51 / 255., 111 / 255., true},
	{57 / 255., 72 / 255., 107 / 255., true},
	{87 / 255., 92 / 255., 109 / 255., true},
	{112 / 255., 113 / 255., 115 / 255., true},
	{138 / 255., 135 / 255., 121 / 255., true},
	{166 / 255., 157 / 255., 117 / 255., true},
	{196 / 255., 181 / 255., 108 / 255., true},
	{255 / 255., 234 / 255., 70 / 255., true},
};
static const struct al_color diverging[] = {
	{0x00 / 255., 0x3C / 255., 0x66 / 255., true},
	{0x00 / 255., 0x72 / 255., 0xB2 / 255., true},
	{1, 1, 1, true},
	{0xD5 / 255., 0x5E / 255., 0x00 / 255., true},
	{0x7A / 255., 0x32 / 255., 0x00 / 255., true},
};

static struct al_color mix(struct al_color a, struct al_color b, double share)
{
	return (struct al_color){a.red + share * (b.red - a.red),
		a.green + share * (b.green - a.green), a.blue + share * (b.blue - a.blue),
		a.is_value};
}

static struct al_color ramp_at(const struct al_color *stops, size_t n, double share)
{
	double place = fmin(1, fmax(0, share)) * (double)(n - 1);
	size_t below = place >= (double)(n - 1) ? n - 2 : (size_t)place;

	return mix(stops[below], stops[below + 1], place - (double)below);
}

struct al_color al_ramp_color(double share, bool is_diverging)
{
	return is_diverging ? ramp_at(diverging, sizeof(diverging) / sizeof(*diverging), share)
			    : ramp_at(cividis, sizeof(cividis) / sizeof(*cividis), share);
}

struct al_color al_series_tint(size_t series)
{
	return mix(al_series_color(series), al_color_white, 0.72);
}

void al_series_set_glass(struct al_canvas *canvas, size_t series)
{
	al_canvas_glass(canvas, al_series_color(series), 0.35);
}

/* ---- dashes and markers ---- */

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
	double scale; /* evens out the areas */
} markers[] = {
	{{{0}}, 0, 1},
	{{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}, 4, 0.88},
	{{{0, -1}, {1, 1}, {-1, 1}}, 3, 1.1},
	{{{0, -1}, {1, 0}, {0, 1}, {-1, 0}}, 4, 1.2},
	{{{-1, -1}, {1, -1}, {0, 1}}, 3, 1.1},
	{{{-.33, -1}, {.33, -1}, {.33, -.33}, {1, -.33}, {1, .33}, {.33, .33}, {.33, 1}, {-.33, 1},
		 {-.33, .33}, {-1, .33}, {-1, -.33}, {-.33, -.33}},
		12, 1.1},
	{{{-1, -1}, {0, -.4}, {1, -1}, {.4, 0}, {1, 1}, {0, .4}, {-1, 1}, {-.4, 0}}, 8, 1.05},
	{{{-1, 0}, {-.5, -1}, {.5, -1}, {1, 0}, {.5, 1}, {-.5, 1}}, 6, 1},
};

enum { N_MARKERS = sizeof(markers) / sizeof(*markers) };

/* A second channel that shifts by one each time the colors have gone round: 64 pairs. */
static size_t second(size_t series, size_t n)
{
	return (series + series / AL_FIGURE_N_COLORS) % n;
}

struct al_color al_series_color(size_t series)
{
	return colors[series % AL_FIGURE_N_COLORS];
}

static double luminance(struct al_color color)
{
	return 0.2126 * pow(color.red, 2.2) + 0.7152 * pow(color.green, 2.2)
		+ 0.0722 * pow(color.blue, 2.2);
}

/* A contrast of 4.5 to white, the least for small text in WCAG 2, is a luminance of 0.183. */
struct al_color al_series_ink(size_t series)
{
	struct al_color ink = al_series_color(series);
	double factor = pow(fmin(1, 0.183 / fmax(0.001, luminance(ink))), 1 / 2.2);

	return (struct al_color){ink.red * factor, ink.green * factor, ink.blue * factor, false};
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
void al_series_draw_marker(struct al_canvas *canvas, size_t series, double x, double y,
	double size_pt)
{
	const struct marker *marker = &markers[second(series, N_MARKERS)];

	trace_marker(canvas, marker, x, y, marker->scale * size_pt / 2);
	al_canvas_color(canvas, al_color_white);
	cairo_set_dash(canvas->cr, NULL, 0, 0);
	cairo_set_line_width(canvas->cr, 0.9);
	al_canvas_paint(canvas, true);
	al_canvas_color(canvas, al_series_color(series));
	al_canvas_fill(canvas);
}

void al_series_draw_open_marker(struct al_canvas *canvas, size_t series, double x, double y,
	double size_pt)
{
	const struct marker *marker = &markers[second(series, N_MARKERS)];
	const double rim_pt = 0.8;

	trace_marker(canvas, marker, x, y, marker->scale * (size_pt - rim_pt) / 2);
	al_canvas_color(canvas, al_color_white);
	al_canvas_paint(canvas, false);
	al_canvas_color(canvas, al_series_color(series));
	cairo_set_dash(canvas->cr, NULL, 0, 0);
	cairo_set_line_width(canvas->cr, rim_pt);
	al_canvas_stroke(canvas);
}

/* ---- hatches ---- */

/* Strokes along x*dx + y*dy = constant, up to two directions ((0, 0): none), or dots. */
static const struct hatch {
	double directions[2][2];
	bool has_dots;
} hatches[] = {
	{{{0, 0}, {0, 0}}, false},
	{{{1, 1}, {0, 0}}, false},
	{{{0, 0}, {0, 0}}, true},
	{{{-1, 1}, {0, 0}}, false},
	{{{1, 1}, {-1, 1}}, false},
	{{{1, 0}, {0, 0}}, false},
	{{{0, 1}, {0, 0}}, false},
	{{{1, 0}, {0, 1}}, false},
};

enum { N_HATCHES = sizeof(hatches) / sizeof(*hatches) };

static const double hatch_spacing_pt = 3, dot_pt = 1;

/* The part within the box of the line x*dx + y*dy = c, dy being 1 or, as dx, 0. Cut off here: no
 * clip, no pattern, the same in all formats. */
static struct al_segment cut(const struct al_box *box, double dx, double dy, double c)
{
	struct al_segment s = {box->left, c, box->right, c};

	if (dx != 0)
		s = (struct al_segment){(c - dy * box->top) / dx, box->top,
			(c - dy * box->bottom) / dx, box->bottom};
	al_segment_clip(&s, box);
	return s;
}

/* Begins at the box's lower left corner, so that equal bars look equal. */
static void stroke(struct al_canvas *canvas, const struct al_box *box, const double direction[2])
{
	double dx = direction[0], dy = direction[1], step = hatch_spacing_pt * hypot(dx, dy);
	double low = dx * (dx < 0 ? box->right : box->left) + dy * box->top;
	double high = dx * (dx < 0 ? box->left : box->right) + dy * box->bottom;

	for (double c = high - step / 2; c > low; c -= step) {
		struct al_segment s = cut(box, dx, dy, c);
		cairo_move_to(canvas->cr, s.x0, s.y0);
		cairo_line_to(canvas->cr, s.x1, s.y1);
	}
	cairo_set_dash(canvas->cr, NULL, 0, 0);
	cairo_set_line_width(canvas->cr, 0.5);
	al_canvas_stroke(canvas);
}

/* Whole dots only, every second row shifted. */
static void sprinkle(struct al_canvas *canvas, const struct al_box *box)
{
	double radius = dot_pt / 2, step = hatch_spacing_pt;
	bool is_shifted = false;

	for (double y = box->bottom - step / 2; y - radius > box->top; y -= step * 0.75) {
		for (double x = box->left + step / (is_shifted ? 1 : 2); x + radius < box->right;
			x += step) {
			cairo_new_sub_path(canvas->cr);
			cairo_arc(canvas->cr, x, y, radius, 0, 2 * G_PI);
		}
		is_shifted = !is_shifted;
	}
	al_canvas_fill(canvas);
}

/* None in the first round of colors, and all but none in each later one: 64 pairs, too. */
static const struct hatch *hatch_of(size_t series)
{
	const size_t n = N_HATCHES - 1, shift = series / AL_FIGURE_N_COLORS;

	return &hatches[shift == 0 ? 0 : 1 + (series + shift - 1) % n];
}

void al_series_draw_bar(struct al_canvas *canvas, size_t series, const struct al_box *box)
{
	const struct hatch *hatch = hatch_of(series);

	al_canvas_color(canvas, al_series_color(series));
	al_canvas_fill_box(canvas, box);
	al_canvas_color(canvas, al_color_white);
	if (hatch->has_dots)
		sprinkle(canvas, box);
	for (int i = 0; i < 2; i++)
		if (hatch->directions[i][0] != 0 || hatch->directions[i][1] != 0)
			stroke(canvas, box, hatch->directions[i]);
}
