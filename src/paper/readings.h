/* Readings: the conventions under which a table's numbers may be printed, and the one that fits. */
#pragma once

#include "paper/sheet.h"

/* K of contexts; what is printed for a power of two is it: 262K is 2^18. */
enum al_paper_thousand {
	AL_K_IS_1024,
	AL_K_IS_1000,
	AL_K_IS_ROUND, /* 1,000, and 262K is 262,000 */
	AL_N_THOUSANDS
};

struct al_paper_reading {
	double bytes; /* of a number whose format isn't stated */
	double tokens; /* of a sequence whose length isn't stated */
	int total; /* what parameters are: enum al_paper_total */
	bool is_gated; /* feed-forward layers of a row's sizes have a third matrix */
	bool is_binary; /* GB is 2^30 bytes */
	enum al_paper_thousand k; /* 8K is 8,192 tokens, or 8,000 */
	bool is_elements; /* a cache without a unit counts numbers, not bytes */
	double penalty; /* of choices that the paper leaves open, in digits */
};

struct al_paper_fit {
	struct al_paper_reading reading;
	size_t n_fit,
		n_other; /* cells that are printed as the reading has it, and those that differ */
	double score, evidence; /* in digits */
};

/* The parameters that a cell of them is of; 0: they aren't known. */
double al_paper_total_of(const struct al_paper_cell *cell, const struct al_paper_reading *reading);

/* Of each number that a cell counts; 0: it counts numbers, not bytes. */
double al_paper_bytes_of(const struct al_paper_cell *cell, const struct al_paper_reading *reading);

/* What the cell's number would be, in its unit; 0: it can't be derived. */
double al_paper_value(const struct al_paper_cell *cell, const struct al_paper_reading *reading);

/* Sets `right`, `is_whole` and `holds`. */
void al_paper_read_cell(struct al_paper_cell *cell, const struct al_paper_reading *reading);

/* The context that is meant. */
double al_paper_tokens_of(const struct al_paper_cell *cell, const struct al_paper_reading *reading);

struct al_paper_fit al_paper_best_reading(struct al_paper_cell *const *cells, size_t n,
	enum al_paper_gb gb);
