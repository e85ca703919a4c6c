/* The page of an answer that has no page of its own: its tables, with a bar chart of what a table
 * of parts adds up to. */
#pragma once

#include "report/page/page.h"

/* Of tables that begin with the column `label` and have `value`. */
struct al_page_chart {
	const char *label, *value, *axis;
	const char *total; /* the label of the row that isn't a part */
};

struct al_answer_page {
	struct al_page_head head;
	const struct al_table *const *tables;
	size_t n_tables;
	const struct al_page_chart *charts; /* ended by label NULL; the first that fits is drawn */
	const char *command; /* that made the page */
};

void al_answer_page_write(const struct al_answer_page *page, struct al_text *out);
