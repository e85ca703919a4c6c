/* Claims: numbers that a paper prints, and how they are derived. */
#ifndef ATTNLEDGER_SCENARIO_CLAIMS_H
#define ATTNLEDGER_SCENARIO_CLAIMS_H

#include <stdbool.h>

#include "formula/polynomial.h"
#include "scenario/scenario.h"

struct cJSON;

enum al_relation { AL_RELATION_EQUAL, AL_RELATION_LESS, AL_RELATION_GREATER, AL_RELATION_IN };
enum al_rounding {
	AL_ROUNDING_HALF,
	AL_ROUNDING_TRUNCATED,
	AL_ROUNDING_ABOUT,
	AL_ROUNDING_MORE_THAN,
	AL_ROUNDING_LESS_THAN,
	AL_ROUNDING_RANGE,
};

struct al_named_path {
	const char *name, *path;
};

struct al_scenario_claim {
	const char *id, *where, *printed, *unit; /* where and unit may be NULL */
	const struct cJSON *node; /* where it stands, for messages */
	enum al_claim_kind kind;
	const char *of; /* of a reading: the id of the claim whose number it reads */
	struct al_scenario_claim *first; /* that claim; of all others itself */
	const char *path; /* a value without `with` */
	const struct al_formula *formula; /* a value with `with` */
	struct al_named_path *with;
	size_t n_with;
	enum al_relation relation;
	enum al_rounding rounding;
	bool is_approximate;
	struct al_substitution *symbols; /* a printed polynomial's letters */
	size_t n_symbols;
	const char *underivable;
	const char *erratum; /* the reason, or NULL */
};

#endif
