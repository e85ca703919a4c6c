/* Exact search over whole numbers for what grows. */
#pragma once

#include "base/base.h"

#include <gmp.h>

/* A function that never falls from one whole number to the next. */
struct al_growth {
	bool (*evaluate)(void *context, int64_t x, mpq_t out, struct al_error *err);
	void *context;
	int64_t least, step; /* it is asked at least, least + step, ... */
	int64_t most_passed; /* so many steps in a row may be without a value (they don't divide
				what they must) and are passed over; 0: an error of the function
				is an error */
	bool may_be_unbounded; /* else what doesn't grow is an error */
};

struct al_largest {
	bool fits; /* at `least` at all */
	bool has_next; /* is there a larger one that has a value? */
	bool is_unbounded; /* all that were tried fit: `value` is the last */
	int64_t value,
		next; /* the largest x within the limit, and the one after it; where nothing fits,
	                          next is the least */
};

/* Searched up to this many steps: what still fits there doesn't grow. */
enum { AL_SOLVE_MOST_BITS = 40 };

/* The largest x with f(x) <= limit. */
bool al_solve_largest(const struct al_growth *growth, mpq_srcptr limit, struct al_largest *out,
	struct al_error *err) AL_MUST_CHECK;
