/* The page of an audit. */
#pragma once

#include "report/page/heads.h"

/* A suggestion, and its command. */
struct al_page_advice {
	const char *text, *command; /* text: a claim's pattern */
};

/* Tables by their ids; NULL: the audit has none. Where `drop` or measured tables are there, they
 * decide, not weights. */
struct al_audit_page {
	struct al_page_head head;
	const struct al_page_tile *tiles;
	size_t n_tiles;
	struct al_page_advice *advice;
	size_t n_advice;
	bool has_exact; /* the first loses nothing */
	bool has_steps; /* it is by weights, or copies on tokens: `redundant` lists the heads */
	bool has_inputs; /* conversions are judged by recorded inputs */
	struct al_texts doings; /* what heads may attend to on tokens */
	const struct al_table *summary, *heads, *layers, *cosines, *similarity, *redundant, *drop;
	const struct al_table *conversions; /* of all modules together */
	const struct al_table *losses, *frontier; /* of heads and conversions, measured on tokens */
	const struct al_table *const *others; /* all else that the answer has */
	size_t n_others;
	const struct al_page_left_out *left_out;
	size_t n_left_out;
	const char *command; /* that made the page */
};

void al_audit_page_write(const struct al_audit_page *page, struct al_text *out);
