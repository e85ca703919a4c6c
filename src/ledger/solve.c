/* Exact search over whole numbers for what grows: 16 times as many steps each time until they are
 * too many, then between the two by a straight line, every third time by halves. Steps at which
 * the function has no value are passed over. */
#include "ledger/solve.h"

static int64_t at(const struct al_growth *g, int64_t steps)
{
	return g->least + steps * g->step;
}

/* A step that has a value, and how much more it is than the limit. */
struct found {
	bool is_there, fits;
	int64_t steps;
	double above;
};

static bool try(const struct al_growth *g, mpq_srcptr limit, struct found *out,
	struct al_error *err)
{
	AL_EXACT(value);
	out->is_there = g->evaluate(g->context, at(g, out->steps), value, err);
	mpq_sub(value, value, limit);
	out->fits = out->is_there && mpq_sgn(value) <= 0;
	out->above = mpq_get_d(value);
	return out->is_there;
}

/* The first step from `steps` on, before `end`, that has a value. Where none may be passed over the
 * function's error is an error. */
static bool find_next(const struct al_growth *g, int64_t steps, int64_t end, mpq_srcptr limit,
	struct found *out, struct al_error *err)
{
	struct al_error reason = {.status = AL_OK};

	*out = (struct found){.steps = steps};
	for (int64_t i = 0; !out->is_there && i <= g->most_passed && steps + i < end; i++) {
		out->steps = steps + i;
		if (!try(g, limit, out, &reason) && i == 0 && err)
			*err = reason;
	}
	return out->is_there || g->most_passed > 0;
}

/* Multiplies until a step is too many: `*high` is the first of those that was met, or the last
 * that was tried where all fit. If there is none any more, `*low` moves to the last that has a
 * value. */
static bool find_too_many(const struct al_growth *g, mpq_srcptr limit, struct found *low,
	struct found *high, struct al_error *err)
{
	for (int64_t next = 1;; next = 16 * low->steps) {
		if (next > INT64_C(1) << AL_SOLVE_MOST_BITS)
			return g->may_be_unbounded
				|| al_fail(err, AL_EINPUT,
					"%lld still fits: memory grows too slowly to solve for it",
					(long long)at(g, low->steps));
		if (!find_next(g, next, INT64_MAX, limit, high, err))
			return false;
		if (!high->is_there && !find_next(g, low->steps + 1, next, limit, high, err))
			return false;
		if (!high->is_there || !high->fits)
			return true;
		*low = *high;
	}
}

/* Where a straight line from one to the other is at the limit. */
static int64_t cross(const struct found *low, const struct found *high)
{
	const double share = low->above / (low->above - high->above);

	return low->steps + (int64_t)(share * (double)(high->steps - low->steps));
}

/* Between `low`, which fits, and `high`, which doesn't. */
static bool narrow(const struct al_growth *g, mpq_srcptr limit, struct found *low,
	struct found *high, struct al_error *err)
{
	int64_t end = high->steps; /* nothing from here to `high` has a value */
	struct found middle;

	for (int turn = 1; end - low->steps > 1; turn++) {
		int64_t from = turn % 3 == 0 ? low->steps + (end - low->steps) / 2
					     : cross(low, high);
		from = from <= low->steps ? low->steps + 1 : from >= end ? end - 1 : from;
		if (!find_next(g, from, end, limit, &middle, err))
			return false;
		if (middle.is_there && middle.fits) {
			*low = middle;
			continue;
		}
		end = from;
		if (middle.is_there)
			*high = middle;
	}
	return true;
}

bool al_solve_largest(const struct al_growth *g, mpq_srcptr limit, struct al_largest *out,
	struct al_error *err)
{
	struct found low, high = {0};

	*out = (struct al_largest){.has_next = true, .next = g->least};
	if (!find_next(g, 0, INT64_MAX, limit, &low, err) || !low.is_there)
		return false;
	out->next = at(g, low.steps);
	out->fits = low.fits;
	if (!out->fits)
		return true;
	if (!find_too_many(g, limit, &low, &high, err))
		return false;
	out->is_unbounded = high.fits;
	out->has_next = high.is_there && !high.fits;
	if (out->has_next && !narrow(g, limit, &low, &high, err))
		return false;
	out->value = at(g, low.steps);
	out->next = out->has_next ? at(g, high.steps) : 0;
	return true;
}
