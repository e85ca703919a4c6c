/* SVG: shapes as paths, text as text, colours as CSS variables with a set for dark pages.
 *
 * Programs that don't know CSS find each colour in the attribute of its shape; those that do take
 * the variable of that colour ("--c0072b2"), which a page may set again. Text has the length that
 * was measured, so that another font doesn't make it meet its neighbours. Nothing has an id:
 * several figures may stand in one page. */
#ifndef ATTNLEDGER_FIGURE_SVG_H
#define ATTNLEDGER_FIGURE_SVG_H

#include <pango/pangocairo.h>

#include "base/text.h"
#include "figure/color.h"

enum { AL_SVG_MOST_COLORS = 64 };

struct al_svg {
	struct al_text body;
	struct al_color colors[AL_SVG_MOST_COLORS]; /* that follow the page */
	size_t n_colors;
};

struct al_svg_page {
	double width_pt, height_pt;
	const char *title;
	const char *family; /* installed where it was drawn; others stand behind it */
};

/* What a shape is filled or stroked with. */
struct al_svg_paint {
	struct al_color color;
	double alpha;
	bool is_stroke; /* with the context's line width and dashes */
};

/* A laid out text at the context's current transformation, `levels` its bytes' (typeset.h). */
struct al_svg_text {
	PangoLayout *layout;
	const char *levels;
	double size_pt;
	bool is_bold;
	struct al_color color;
};

void al_svg_begin(struct al_svg *svg);
void al_svg_finish(struct al_svg *svg);

/* The context's path, which stays. */
void al_svg_add_path(struct al_svg *svg, cairo_t *cr, const struct al_svg_paint *paint);

/* What follows is cut off at the box, until the end of it. */
void al_svg_begin_clip(struct al_svg *svg, double left, double top, double width, double height);
void al_svg_end_clip(struct al_svg *svg);

void al_svg_add_text(struct al_svg *svg, cairo_t *cr, const struct al_svg_text *text);

/* The whole document. */
void al_svg_write(const struct al_svg *svg, const struct al_svg_page *page, struct al_text *out);

#endif
