/* The table `conversion` read as a whole: each conversion of all modules together. */
#pragma once

#include "audit/audit.h"

/* One row a conversion, over all modules: what it saves of all of them together, the largest error
 * of any. Columns are conversion's without module, parameters and groups. */
void al_conversion_total(struct al_table *out, const struct al_table *conversion);

/* Of these totals the conversion without an error beyond rounding that saves most of the cache, and
 * then of the parameters; false where there is none, or where it is that without the redundant
 * heads. */
bool al_conversion_find_exact(const struct al_table *totals, size_t *row);

/* The conversions that save most at an error, as lines of the summary. */
void al_conversion_summarize(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *conversion);
