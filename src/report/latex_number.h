/* Numbers in LaTeX, with their spreads and marks. */
#ifndef ATTNLEDGER_REPORT_LATEX_NUMBER_H
#define ATTNLEDGER_REPORT_LATEX_NUMBER_H

#include "report/writer.h"

/* Does the table set the column by siunitx? */
bool al_latex_is_siunitx(const struct al_table *table, size_t column);

/* What tells tabular of the column: "r", "l", or an S column as wide as its numbers. */
void al_latex_add_column(struct al_text *out, const struct al_style *style,
	const struct al_table *table, size_t column);

/* An exact or real cell of the table. */
void al_latex_add_number(struct al_text *out, const struct al_style *style,
	const struct al_table *table, size_t column, const struct al_cell *cell);

#endif
