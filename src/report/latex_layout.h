/* How a table is laid out on a venue's pages, so that nothing exceeds their edges: in one
 * column or across both, in which size of type, with broken heads, with rows and columns exchanged,
 * with wrapped texts, or in parts. The first of a list of attempts that fits is taken; the last,
 * parts of wrapped columns, nearly always does. */
#pragma once

#include "report/latex_grid.h"
#include "report/latex_width.h"

struct al_latex_layout {
	struct al_latex_grid grid; /* as it is printed: perhaps transposed */
	const struct al_profile_size *size; /* NULL: no profile, the text's own */
	bool is_wide; /* table* */
	double gap_pt; /* on each side of a column */
	double *wrap_pt; /* [n_columns] a text's width where it is wrapped, 0 elsewhere; or NULL */
	struct al_latex_part *parts; /* the keys, then some columns */
	size_t n_parts;
	size_t most_rows; /* of a part on a page */
	bool is_split; /* each part is a table of its own: a page doesn't hold them all */
};

/* Without a profile the layout is one part of all columns. */
void al_latex_lay_out(struct al_latex_layout *layout, struct al_arena *arena,
	const struct al_profile *profile, const struct al_table *table,
	const struct al_latex_grid *grid);

/* ---- latex_break.c: heads of columns in several lines, which make narrow columns ---- */

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

/* The same grid with places to break at within words of texts and heads that are wider than
 * `limit_pt`. */
void al_latex_grid_break_words(const struct al_latex_grid *grid, struct al_arena *arena,
	const struct al_latex_type *type, double limit_pt, struct al_latex_grid *out);
