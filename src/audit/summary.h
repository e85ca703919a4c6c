/* The measurements' summary, an audit in about ten lines: read off their finished
 * tables. */
#pragma once

#include "audit/measurement.h"

void al_summary_add(struct al_table *summary, const char *item, const char *value);

/* Statistics of a column's numbers; the middle is the median. */
struct al_range {
	double low, middle, high;
	size_t n;
};

/* Over the rows whose column `key` reads `only`; all rows where `key` is NULL. */
struct al_range al_range_of(struct al_arena *arena, const struct al_table *table,
	const char *column, const char *key, const char *only);

/* " of 12" where all modules have the same number in this field of struct al_attention (`n_heads`,
 * say, by its offset), else "". */
const char *al_summary_of(struct al_arena *arena, const struct al_model_view *view, size_t field);

/* "25 (5 to 27)", the median and how far it goes; one number where all are the same. */
const char *al_range_text(struct al_arena *arena, struct al_range range, int digits);
