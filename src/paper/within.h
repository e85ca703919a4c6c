/* Relations within a table, for which no model is needed. */
#pragma once

#include "paper/sheet.h"

void al_paper_relate(const struct al_paper_sheet *sheet, struct al_paper_findings *out,
	struct al_lint_counts *counts);
