/* The numbers of tables one by one, under their paths, for the text of a paper:
 * "table-13/mha/total". */
#pragma once

#include "report/report.h"

struct al_numbers {
	struct al_text
		latex; /* defines \ledger{PATH}, a definition each number, as people read it */
	struct al_text json; /* exact numbers, and how people read them */
	size_t n; /* in the JSON */
};

void al_numbers_begin(struct al_numbers *numbers, const char *title);
void al_numbers_add(struct al_numbers *numbers, const struct al_table *table);

/* The JSON is whole then. */
void al_numbers_end(struct al_numbers *numbers);
void al_numbers_finish(struct al_numbers *numbers);
