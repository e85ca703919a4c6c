/* Intervals: what a formula can be worth while its symbols go over ranges, by exact rational
 * interval arithmetic. The set that comes out holds every value; it may hold more. */
#pragma once

#include "formula/formula.h"

enum al_interval_kind {
	AL_INTERVAL_BETWEEN, /* low <= y <= high */
	AL_INTERVAL_OUTSIDE, /* after a pole: y <= low or high <= y, where there is such an end */
	AL_INTERVAL_ANY, /* nothing is known */
};

struct al_interval {
	enum al_interval_kind kind;
	bool has_low, has_high; /* OUTSIDE */
	mpq_t low, high;
};

#define AL_INTERVAL(name) \
	AL_ENDS(al_interval_finish) struct al_interval name; \
	al_interval_init(&(name))
void al_interval_init(struct al_interval *interval); /* 0 to 0 */
void al_interval_finish(struct al_interval *interval);

void al_interval_set(struct al_interval *interval, mpq_srcptr low, mpq_srcptr high);
void al_interval_set_any(struct al_interval *interval);

/* Widens what lies between to `q` too. */
void al_interval_include(struct al_interval *interval, mpq_srcptr q);

/* Where symbols get their ranges. Returns false only on an error. */
struct al_interval_scope {
	bool (*lookup)(void *context, const struct al_reference *reference, struct al_interval *out,
		struct al_error *err);
	void *context;
};

/* `out` is initialized by the caller. A division by what may be zero is no error. */
bool al_formula_enclose(const struct al_formula *formula, const struct al_interval_scope *scope,
	struct al_interval *out, struct al_error *err) AL_MUST_CHECK;
