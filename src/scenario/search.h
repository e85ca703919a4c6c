/* Searching the box of a claim's data for a value that is printed so. */
#ifndef ATTNLEDGER_SCENARIO_SEARCH_H
#define ATTNLEDGER_SCENARIO_SEARCH_H

#include "scenario/derive.h"

/* The numbers that are wanted: from low to high, as far as there are ends. */
struct al_target {
	mpq_t low, high;
	bool has_low, has_high;
	bool is_open; /* without the ends themselves */
};

enum al_reach {
	AL_REACHED, /* data within their rounding give a wanted number */
	AL_MISSED, /* none can */
	AL_UNDECIDED, /* neither is shown */
};

/* What was seen of the value: all of it lies in the box. */
struct al_search {
	struct al_derivation *derivation; /* its box is filled */
	mpq_srcptr point; /* the value at the data's point values */
	mpq_t low, high; /* from the least to the greatest value that was met */
	/* The least and the greatest of the point and the corners, and where they are. */
	struct al_extreme {
		mpq_t value;
		mpq_srcptr at[AL_MOST_DATA];
	} least, greatest;
	const struct al_target *target; /* that is being searched for */
	bool is_reached;
};

/* `point`, the value at the data's point values, outlives the search. */
void al_search_init(struct al_search *search, struct al_derivation *derivation, mpq_srcptr point);
void al_search_finish(struct al_search *search);

/* Looks at all corners of the box. */
bool al_search_corners(struct al_search *search, struct al_error *err) AL_MUST_CHECK;

/* When the corners were looked at: the way between two of them, then the box as a whole. */
bool al_search_box(struct al_search *search, const struct al_target *target, enum al_reach *reach,
	struct al_error *err) AL_MUST_CHECK;

#endif
