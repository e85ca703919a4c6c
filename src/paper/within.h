/* Relations within a table, for which no model is needed. */
#pragma once

#include "paper/sheet.h"

/* Columns of other columns, and rows of other rows that they are called so of. */
void al_paper_relate(const struct al_paper_sheet *sheet, struct al_paper_findings *out,
	struct al_lint_counts *counts);
