/* A colour, each part from 0 to 1 (sRGB). */
#ifndef ATTNLEDGER_FIGURE_COLOR_H
#define ATTNLEDGER_FIGURE_COLOR_H

#include <stdbool.h>

struct al_color {
	double red, green, blue;
	bool is_value; /* it stands for a number, and is the same on light pages and on dark ones */
};

/* The same hue for a dark page: greys and pale colours change places with dark ones, strong
 * colours become light enough to be seen. */
struct al_color al_color_on_dark(struct al_color color);

#endif
