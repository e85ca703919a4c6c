/* The page of formulas that are evaluated in it. */
#pragma once

#include "report/page/page.h"

struct al_explorer_page {
	struct al_page_head head;
	const char *data; /* JSON without '<', which explorer.js reads */
	const struct al_table *formulas; /* read without a script, too */
	const char *command; /* that made the page */
};

void al_explorer_page_write(const struct al_explorer_page *page, struct al_text *out);
