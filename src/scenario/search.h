/* Searching the box of a claim's data for a value that is printed so. */
#ifndef ATTNLEDGER_SCENARIO_SEARCH_H
#define ATTNLEDGER_SCENARIO_SEARCH_H

#include "scenario/derive.h"

/* The numbers that are wanted: from low to high, as far as there are ends. */
struct target {
	mpq_t low, high;
	bool has_low, has_high;
	bool is_open; /* without the ends themselves */
};

enum reach {
	REACHED, /* data within their rounding give a wanted number */
	MISSED, /* none can */
	UNDECIDED, /* neither is shown by the regions that may be looked at */
};

/* What was seen of the value: all of it lies in the box. */
struct search {
	struct derivation *derivation; /* its box is filled */
	const struct target *target;
	mpq_t low, high; /* from the least to the greatest value that was met */
	bool is_reached;
	/* Corners, by bits, below and above what is wanted; -1: none was met. */
	int below, above;
};

/* `point` is the value at the data's point values. */
void search_init(struct search *search, struct derivation *derivation, const struct target *target,
	mpq_srcptr point);
void search_finish(struct search *search);

/* Looks at all corners of the box. */
bool search_corners(struct search *search, struct al_error *err) AL_MUST_CHECK;

/* Looks at as much of the box as it takes, or as may be looked at; the corners come first. */
bool search_box(struct search *search, enum reach *reach, struct al_error *err) AL_MUST_CHECK;

#endif
