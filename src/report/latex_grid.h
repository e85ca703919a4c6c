/* A table as LaTeX: its heads and cells as source, before it is known where lines and pages end. */
#ifndef ATTNLEDGER_REPORT_LATEX_GRID_H
#define ATTNLEDGER_REPORT_LATEX_GRID_H

#include "report/writer.h"

struct al_latex_column {
	const char *spec; /* "r", "l", or a column of siunitx */
	const char *group, *head; /* group: NULL for none */
	bool is_key;
};

struct al_latex_grid {
	struct al_latex_column *columns;
	size_t n_columns;
	const char ***rows; /* [n_rows][n_columns] */
	bool *has_rule; /* [n_rows]: over a total; NULL: none has */
	size_t n_rows;
};

/* A title or a note with what LaTeX reads otherwise than it looks; symbols ("d_model x d_model")
 * and what stands between dollar signs are set as mathematics, as in figures. */
void al_latex_add_escaped(struct al_text *out, const char *text);

void al_latex_grid_init(struct al_latex_grid *grid, struct al_arena *arena,
	const struct al_style *style, const struct al_table *table);

/* Rows become columns, headed by what names them; heads of columns become names of rows. */
void al_latex_grid_transpose(const struct al_latex_grid *grid, struct al_arena *arena,
	struct al_latex_grid *out);
bool al_latex_grid_can_transpose(const struct al_latex_grid *grid);

/* The first column after those under the same heading as `column`. */
size_t al_latex_group_end(const struct al_latex_grid *grid, size_t column);
bool al_latex_has_groups(const struct al_latex_grid *grid);

/* Columns of siunitx set what is no number in braces. */
bool al_latex_is_braced(const struct al_latex_column *column);

#endif
