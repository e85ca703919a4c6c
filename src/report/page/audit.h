/* The page of an audit. */
#pragma once

#include "report/page/heads.h"

/* Tables by their ids; NULL: the audit has none. */
struct al_audit_page {
	struct al_page_head head;
	const struct al_table *summary, *heads, *layers, *cosines, *similarity, *redundant;
	const struct al_table *conversions; /* of all modules together */
	const struct al_page_left_out *left_out;
	size_t n_left_out;
	const char *command; /* that made the page */
	const char *words; /* what `compress` is told to read the model: its path, --heads */
	bool merge_needs_calibration; /* positions are rotary: weights alone don't say it */
};

void al_audit_page_write(const struct al_audit_page *page, struct al_text *out);
