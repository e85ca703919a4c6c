/* The palette distinguishes series twice: a color (after Okabe & Ito 2008, safe for color-blind
 * readers, in steps of lightness for print in gray) and a dash or a marker, for marks that
 * coincide. Bars are hatched from the second round of colors on. */
#pragma once

#include "figure/canvas.h"

/* Colors repeat after AL_FIGURE_N_COLORS, with another marker, dash and hatch. */
struct al_color al_series_color(size_t series);

/* The same hue, faint: of many curves that lie close. */
struct al_color al_series_tint(size_t series);

/* The same hue, translucent, for what is drawn next: an area over others. */
void al_series_set_glass(struct al_canvas *canvas, size_t series);

/* The same hue, dark enough for text on white. */
struct al_color al_series_ink(size_t series);

/* Dashes for the current line; the first series is solid. */
void al_series_set_dash(struct al_canvas *canvas, size_t series);

/* The share of a line that its dashes cover: what covers less is drawn later, so that the line
 * below shows through. */
double al_series_coverage(size_t series);

/* The color of a share, 0 to 1: cividis (Nuñez, Anderton & Renslow 2018), dark to light; or for a
 * diverging range blue below the middle, vermilion above it, white there. */
struct al_color al_ramp_color(double share, bool is_diverging);

/* A marker whose bounding box is centered on (x, y). */
void al_series_draw_marker(struct al_canvas *canvas, size_t series, double x, double y,
	double size_pt);

/* Its rim alone, filled with white. */
void al_series_draw_open_marker(struct al_canvas *canvas, size_t series, double x, double y,
	double size_pt);

/* A filled and hatched bar. */
void al_series_draw_bar(struct al_canvas *canvas, size_t series, const struct al_box *box);
