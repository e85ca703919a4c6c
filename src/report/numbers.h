/* A table's numbers one by one, under their paths, for the text of a paper:
 * "table-13/mha/total". */
#pragma once

#include "report/report.h"

/* LaTeX that defines \ledger{PATH}; numbers follow, a definition each, as people read them. */
void al_numbers_begin_latex(struct al_text *out, const char *title);
void al_numbers_add_latex(struct al_text *out, const struct al_table *table);

/* The members of a JSON object, of which `n_members` stand there already: exact numbers, and how
 * people read them. */
void al_numbers_add_json(struct al_text *out, size_t *n_members, const struct al_table *table);
