/* Claims: numbers that a paper prints, and how they are derived. */
#ifndef ATTNLEDGER_SCENARIO_CLAIMS_H
#define ATTNLEDGER_SCENARIO_CLAIMS_H

#include <stdbool.h>

#include "formula/polynomial.h"

struct cJSON;

enum relation { RELATION_EQUAL, RELATION_LESS, RELATION_GREATER, RELATION_IN };
enum rounding {
	ROUNDING_HALF,
	ROUNDING_TRUNCATED,
	ROUNDING_ABOUT,
	ROUNDING_MORE_THAN,
	ROUNDING_LESS_THAN,
	ROUNDING_RANGE,
};

struct named_path {
	const char *name, *path;
};

struct claim {
	const char *id, *where, *printed, *unit; /* where and unit may be NULL */
	const struct cJSON *node; /* where it stands, for messages */
	const char *path; /* a value without `with` */
	const struct al_formula *formula; /* a value with `with` */
	struct named_path *with;
	size_t n_with;
	enum relation relation;
	enum rounding rounding;
	bool is_approximate;
	struct al_substitution *symbols; /* a printed polynomial's letters */
	size_t n_symbols;
	const char *underivable;
	const char *erratum; /* the reason, or NULL */
};

#endif
