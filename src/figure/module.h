/* The functions of figure.h as a module has them that is loaded when there is something to draw. */
#pragma once

#include "figure/figure.h"

struct al_figure_module {
	bool (*draw)(const struct al_figure *figure, const struct al_table *table,
		enum al_figure_format format, struct al_text *out, struct al_error *err);
	bool (*caption)(const struct al_figure *figure, const struct al_table *table,
		struct al_text *out, struct al_error *err);
};

extern const struct al_figure_module al_figure_module;
