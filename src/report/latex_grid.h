/* A table as LaTeX: its heads and cells as source, before it is known where lines and pages end. */
#pragma once

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
 * and text between dollar signs are set as mathematics, as in figures. */
void al_latex_add_escaped(struct al_text *out, const char *text);

void al_latex_grid_init(struct al_latex_grid *grid, struct al_arena *arena,
	const struct al_style *style, const struct al_table *table);

/* The first columns that name a row, but for the last column. */
size_t al_latex_count_keys(const struct al_latex_grid *grid);

/* Rows become columns, headed by what names them; heads of columns become names of rows. */
void al_latex_grid_transpose(const struct al_latex_grid *grid, struct al_arena *arena,
	struct al_latex_grid *out);
bool al_latex_grid_can_transpose(const struct al_latex_grid *grid);

/* Adjacent columns: the first place after those under the same heading as `place`. */
struct al_latex_part {
	size_t *columns, n; /* [n] */
};
struct al_latex_part al_latex_all_columns(const struct al_latex_grid *grid, struct al_arena *arena);
size_t al_latex_group_end(const struct al_latex_grid *grid, const struct al_latex_part *part,
	size_t place);
bool al_latex_has_groups(const struct al_latex_grid *grid);

/* Columns of siunitx set what is no number in braces. */
bool al_latex_is_braced(const struct al_latex_column *column);

/* ---- latex_number.c: numbers with their spreads and marks ---- */

/* Does the table set the column by siunitx? */
bool al_latex_is_siunitx(const struct al_table *table, size_t column);

/* The column's type in tabular: "r", "l", or an S column as wide as its numbers. */
void al_latex_add_column(struct al_text *out, const struct al_style *style,
	const struct al_table *table, size_t column);

/* An exact or real cell of the table. */
void al_latex_add_number(struct al_text *out, const struct al_style *style,
	const struct al_table *table, size_t column, const struct al_cell *cell);

/* ---- latex_math.c: what figures set as mathematics, LaTeX does, too ---- */

/* Adds the mathematics that begins at `p` in `text` (a symbol, symbols joined by " x ", or text
 * between dollar signs) and returns where it ends; `p` where none begins. */
const char *al_latex_add_math(struct al_text *out, const char *text, const char *p);
