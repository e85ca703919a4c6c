/* The figures of an audit. */
#ifndef ATTNLEDGER_COMMANDS_PORTRAIT_H
#define ATTNLEDGER_COMMANDS_PORTRAIT_H

#include "audit/audit.h"

/* Draws what the tables (beside al_measurements, NULL where not wanted) hold into a folder, as PDF,
 * SVG and PNG: captured variance of heads alone and together, redundancy by layer, heat maps of the
 * heads' cosines and correlations. */
bool portrait_draw(const char *folder, struct al_table *const *tables,
	struct al_error *err) AL_MUST_CHECK;

/* Of the table `tucker`: error against shared width, three modules a page. */
bool portrait_draw_widths(const char *folder, const struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;

/* Of the table `mixing`: heat maps, a module a figure. */
bool portrait_draw_mixing(const char *folder, const struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;

#endif
