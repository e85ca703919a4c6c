/* How a table is laid out on a venue's pages, so that nothing stands over their edges: in one
 * column or across both, in which size of type, with broken heads, with rows and columns exchanged,
 * with wrapped texts, or in parts. The first of a list of attempts that fits is taken; the last,
 * parts of wrapped columns, nearly always does. */
#ifndef ATTNLEDGER_REPORT_LATEX_LAYOUT_H
#define ATTNLEDGER_REPORT_LATEX_LAYOUT_H

#include "report/latex_grid.h"
#include "report/latex_width.h"

/* Columns that stand beside each other: the keys before `from`, then from..to. */
struct al_latex_part {
	size_t n_keys, from, to;
};

struct al_latex_layout {
	struct al_latex_grid grid; /* as it is printed: perhaps transposed */
	const struct al_profile_size *size; /* NULL: no profile, the text's own */
	bool is_wide; /* table* */
	double gap_pt; /* on each side of a column */
	double *wrap_pt; /* [n_columns] a text's width where it is wrapped, 0 elsewhere; or NULL */
	struct al_latex_part *parts;
	size_t n_parts;
	size_t most_rows; /* of a part on a page */
	bool is_split; /* each part is a table of its own: a page doesn't hold them all */
};

/* Without a profile the layout is one part of all columns. */
void al_latex_lay_out(struct al_latex_layout *layout, struct al_arena *arena,
	const struct al_profile *profile, const struct al_table *table,
	const struct al_latex_grid *grid);

/* The same with places to break at within words of texts and heads that are wider than `limit_pt`
 * (latex_break.c). */
void al_latex_grid_break_words(const struct al_latex_grid *grid, struct al_arena *arena,
	const struct al_latex_type *type, double limit_pt, struct al_latex_grid *out);

#endif
