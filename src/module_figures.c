/* attnledger-figures.so: what draws. */
#include "module.h"

const struct al_module al_module = {.guard = al_memory_guard,
	.draw = al_figure_draw,
	.caption = al_figure_caption};
