/* Heads of columns in several lines, which make narrow columns. */
#ifndef ATTNLEDGER_REPORT_LATEX_HEAD_H
#define ATTNLEDGER_REPORT_LATEX_HEAD_H

#include "report/latex_width.h"

/* How wide a head is in lines no wider than `limit`, if its words allow that. */
double al_latex_head_width(const struct al_latex_type *type, struct al_arena *arena,
	const char *head, double limit, size_t *n_lines);

/* The narrowest width at least that of the body in which a head has few lines; `whole`: its width
 * in one line. */
double al_latex_head_narrow(const struct al_latex_type *type, struct al_arena *arena,
	const char *head, double body, double whole);

/* A head in lines no wider than `limit`, one above the other. */
const char *al_latex_head_stack(const struct al_latex_type *type, struct al_arena *arena,
	const char *head, char alignment, double limit);

#endif
