/* What a claim prints: the numbers that would be printed so, and the search of the box of its data
 * for one. */
#pragma once

#include "scenario/cell.h"
#include "scenario/printed.h"

/* ---- path.c: what a claim's path names ---- */

/* The value at the point or elsewhere in the box. The column (its unit) is NULL where it is not
 * printed. */
bool al_path_value(struct al_evaluator *evaluator, const char *path, struct al_data_box *box,
	struct al_scenario_cell *out, const struct al_column **column,
	struct al_error *err) AL_MUST_CHECK;

/* Bounds of its values within the box of its data; they may be wider. */
bool al_path_enclose(struct al_evaluator *evaluator, const char *path, struct al_interval *out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- search.c ---- */

/* Deriving what a claim prints: its value at a point of the box of the data that it uses, and what
 * it can be within that box. */
struct al_derivation {
	struct al_evaluator *evaluator;
	struct al_arena *arena; /* of numbers that are forgotten with it */
	const struct al_scenario_claim *claim;
	struct al_data_box box; /* begins empty: the value at the data's point values fills it */
	const struct al_column *column; /* of a path alone; NULL where it is not printed */
	bool is_missing;
};

bool al_derive_point(struct al_derivation *d, struct al_scenario_cell *out,
	struct al_error *err) AL_MUST_CHECK;

/* The numbers that are wanted: from low to high, as far as there are ends. */
struct al_target {
	mpq_srcptr low, high;
	bool has_low, has_high;
	bool is_open; /* without the ends themselves */
};

/* low and high: how far the claim's rounding lets a value be away. */
void al_claim_allow_rounding(const struct al_scenario_claim *claim, struct al_printed *printed);

/* Is it a single printed number, not a range or a bound? */
bool al_claim_is_equality(const struct al_scenario_claim *claim);

/* Would the value, in the printed unit, be printed so? */
bool al_claim_is_reproduced(const struct al_scenario_claim *claim, mpq_srcptr value,
	const struct al_printed *printed);

/* The numbers that the claim may stand for, times a unit's factor; they live where those that are
 * printed do. */
struct al_target al_target_of(const struct al_scenario_claim *claim,
	const struct al_printed *printed, int64_t factor);

enum al_reach {
	AL_REACHED, /* data within their rounding give a wanted number */
	AL_MISSED, /* none can */
	AL_UNDECIDED, /* neither is shown */
};

/* Values seen so far, all within the box. */
struct al_search {
	struct al_derivation *derivation; /* its box is filled */
	mpq_srcptr point; /* the value at the data's point values */
	mpq_ptr low, high; /* from the least to the greatest value that was met */
	/* The least and the greatest of the point and the corners, and where they are. */
	struct al_extreme {
		mpq_ptr value;
		mpq_srcptr at[AL_MOST_DATA];
	} least, greatest;
	const struct al_target *target; /* that is being searched for */
	bool is_reached;
};

/* `point`, the value at the data's point values, outlives the search. */
void al_search_init(struct al_search *search, struct al_derivation *derivation, mpq_srcptr point);

/* Looks at all corners of the box. */
bool al_search_corners(struct al_search *search, struct al_error *err) AL_MUST_CHECK;

/* When the corners were looked at: the way between two of them, then the box as a whole. */
bool al_search_box(struct al_search *search, const struct al_target *target, enum al_reach *reach,
	struct al_error *err) AL_MUST_CHECK;
