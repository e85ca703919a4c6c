/* attnledger-figures.so: what the full program loads to draw. */
#include "figure/module.h"

const struct al_figure_module al_figure_module = {al_figure_draw, al_figure_caption};
