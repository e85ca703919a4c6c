/* Exact search over whole numbers for what grows: doubling, then halving. */
#include "ledger/solve.h"

static bool fits_at(const struct al_growth *g, int64_t steps, mpq_srcptr limit, bool *out,
	struct al_error *err)
{
	mpq_t value;

	mpq_init(value);
	bool ok = g->evaluate(g->context, g->least + steps * g->step, value, err);
	*out = ok && mpq_cmp(value, limit) <= 0;
	mpq_clear(value);
	return ok;
}

/* The first power of two of steps that is too many. */
static bool find_too_many(const struct al_growth *g, mpq_srcptr limit, int64_t *out,
	struct al_error *err)
{
	bool fits = true;

	for (*out = 1; fits; *out *= 2) {
		if (*out > INT64_C(1) << AL_SOLVE_MOST_BITS)
			return al_fail(err, AL_EINPUT,
				"%lld still fits: it does not grow enough to be solved for",
				(long long)(g->least + *out / 2 * g->step));
		if (!fits_at(g, *out, limit, &fits, err))
			return false;
	}
	*out /= 2;
	return true;
}

bool al_solve_largest(const struct al_growth *g, mpq_srcptr limit, struct al_largest *out,
	struct al_error *err)
{
	int64_t low = 0, high;
	bool fits;

	*out = (struct al_largest){.next = g->least};
	if (!fits_at(g, 0, limit, &out->fits, err))
		return false;
	if (!out->fits)
		return true;
	if (!find_too_many(g, limit, &high, err))
		return false;
	while (high - low > 1) { /* low fits, high doesn't */
		int64_t middle = low + (high - low) / 2;
		if (!fits_at(g, middle, limit, &fits, err))
			return false;
		if (fits)
			low = middle;
		else
			high = middle;
	}
	out->value = g->least + low * g->step;
	out->next = g->least + high * g->step;
	return true;
}
