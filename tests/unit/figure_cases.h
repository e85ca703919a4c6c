/* Figures as the seed papers draw them, from the closed forms of their numbers. */
#pragma once

#include "figure/figure.h"

struct figure_case {
	const char *id;
	void (*fill)(struct al_table *table);
	struct al_figure figure;
	bool is_hard; /* may need a page larger than its width suggests */
};

extern const struct figure_case figure_cases[];
extern const size_t n_figure_cases;

/* The case of that id, its table filled; al_table_finish must follow. */
const struct figure_case *figure_case_open(const char *id, struct al_table *table);
