/* Exact search over whole numbers for what grows: doubling, then halving. Steps at which the
 * function has no value are passed over. */
#include "ledger/solve.h"

static int64_t at(const struct al_growth *g, int64_t steps)
{
	return g->least + steps * g->step;
}

static bool fits_at(const struct al_growth *g, int64_t steps, mpq_srcptr limit, bool *out,
	struct al_error *err)
{
	AL_EXACT(value);
	bool ok = g->evaluate(g->context, at(g, steps), value, err);
	*out = ok && mpq_cmp(value, limit) <= 0;
	return ok;
}

/* A step that has a value, and whether it fits. */
struct found {
	bool is_there, fits;
	int64_t steps;
};

/* The first step from `steps` on, before `end`, that has a value. Where none may be passed over the
 * function's error is an error. */
static bool find_next(const struct al_growth *g, int64_t steps, int64_t end, mpq_srcptr limit,
	struct found *out, struct al_error *err)
{
	struct al_error reason = {.status = AL_OK};

	*out = (struct found){.steps = steps};
	for (int64_t i = 0; !out->is_there && i <= g->most_passed && steps + i < end; i++) {
		out->steps = steps + i;
		out->is_there = fits_at(g, out->steps, limit, &out->fits, &reason);
		if (i == 0 && err)
			*err = reason;
	}
	return out->is_there || g->most_passed > 0;
}

/* Doubles until a step is too many: `*high` is the first of those that was met, or the last that
 * was tried where all fit. If there is none any more, `*low` moves to the last that has a
 * value. */
static bool find_too_many(const struct al_growth *g, mpq_srcptr limit, int64_t *low,
	struct found *high, struct al_error *err)
{
	for (int64_t next = 1;; next = 2 * *low) {
		if (next > INT64_C(1) << AL_SOLVE_MOST_BITS)
			return g->may_be_unbounded
				|| al_fail(err, AL_EINPUT,
					"%lld still fits: memory grows too slowly to solve for it",
					(long long)at(g, *low));
		if (!find_next(g, next, INT64_MAX, limit, high, err))
			return false;
		if (!high->is_there && !find_next(g, *low + 1, next, limit, high, err))
			return false;
		if (!high->is_there || !high->fits)
			return true;
		*low = high->steps;
	}
}

/* Between `low`, which fits, and `high`, which doesn't. */
static bool halve(const struct al_growth *g, mpq_srcptr limit, int64_t *low, int64_t *high,
	struct al_error *err)
{
	struct found middle;

	for (int64_t end = *high; end - *low > 1;) { /* nothing from `end` to `high` has a value */
		int64_t from = *low + (end - *low) / 2;
		if (!find_next(g, from, end, limit, &middle, err))
			return false;
		if (middle.is_there && middle.fits) {
			*low = middle.steps;
			continue;
		}
		end = from;
		*high = middle.is_there ? middle.steps : *high;
	}
	return true;
}

bool al_solve_largest(const struct al_growth *g, mpq_srcptr limit, struct al_largest *out,
	struct al_error *err)
{
	struct found least, high = {0};

	*out = (struct al_largest){.has_next = true, .next = g->least};
	if (!find_next(g, 0, INT64_MAX, limit, &least, err) || !least.is_there)
		return false;
	out->next = at(g, least.steps);
	out->fits = least.fits;
	if (!out->fits)
		return true;
	int64_t low = least.steps;
	if (!find_too_many(g, limit, &low, &high, err))
		return false;
	out->is_unbounded = high.fits;
	out->has_next = high.is_there && !high.fits;
	if (out->has_next && !halve(g, limit, &low, &high.steps, err))
		return false;
	out->value = at(g, low);
	out->next = out->has_next ? at(g, high.steps) : 0;
	return true;
}
