/* Verdicts: the numbers that would be printed so, and how a value compares with them. */
#include "scenario/verdict.h"

#include <string.h>

#include "base/number.h"

/* ---- the printed number ---- */

bool parse_printed(const char *text, struct printed *printed)
{
	struct al_arena arena;
	const char *dots = strstr(text, "..");
	int digits;

	if (!dots) {
		if (!al_exact_parse(text, printed->first, &printed->digits))
			return false;
		mpq_set(printed->last, printed->first);
		return true;
	}
	al_arena_init(&arena);
	bool ok = al_exact_parse(al_strndup(&arena, text, (size_t)(dots - text)), printed->first,
			  &printed->digits)
		&& al_exact_parse(dots + 2, printed->last, &digits);
	if (ok && digits < printed->digits)
		printed->digits = digits;
	al_arena_finish(&arena);
	return ok;
}

void allow_rounding(const struct claim *claim, struct printed *printed)
{
	mpq_t below, above, unit;

	mpq_inits(below, above, unit, NULL);
	al_exact_unit(unit, printed->digits, 1);
	al_exact_unit(below, printed->digits, 2);
	mpq_set(above, below);
	if (claim->rounding == ROUNDING_TRUNCATED) {
		mpq_set_ui(mpq_sgn(printed->first) < 0 ? above : below, 0, 1);
		mpq_set(mpq_sgn(printed->first) < 0 ? below : above, unit);
	}
	if (claim->is_approximate || claim->rounding == ROUNDING_ABOUT) {
		mpq_add(below, below, unit);
		mpq_add(above, above, unit);
	}
	mpq_sub(printed->low, printed->first, below);
	mpq_add(printed->high, printed->last, above);
	mpq_clears(below, above, unit, NULL);
}

/* ---- verdicts ---- */

/* Would the point be printed so? */
static bool prints_as(const struct claim *claim, mpq_srcptr point, const struct printed *printed)
{
	mpq_t shown;

	mpq_init(shown);
	if (claim->rounding == ROUNDING_TRUNCATED)
		al_exact_truncate(shown, point, printed->digits);
	else
		al_exact_round(shown, point, printed->digits);
	bool same = mpq_equal(shown, printed->first);
	mpq_clear(shown);
	return same;
}

static enum al_verdict judge_equal(const struct claim *claim, const struct value *value,
	const struct printed *printed)
{
	if (prints_as(claim, value->point.number, printed))
		return AL_REPRODUCED;
	bool meet = mpq_cmp(value->low, printed->high) <= 0
		&& mpq_cmp(value->high, printed->low) >= 0;
	return meet ? AL_CONSISTENT : AL_INCONSISTENT;
}

static enum al_verdict judge_range(const struct value *value, const struct printed *printed)
{
	mpq_srcptr point = value->point.number;

	if (mpq_cmp(point, printed->first) >= 0 && mpq_cmp(point, printed->last) <= 0)
		return AL_REPRODUCED;
	bool meet = mpq_cmp(value->low, printed->high) <= 0
		&& mpq_cmp(value->high, printed->low) >= 0;
	return meet ? AL_CONSISTENT : AL_INCONSISTENT;
}

/* sign 1: the value is greater than what is printed; -1: less. */
static enum al_verdict judge_order(const struct value *value, const struct printed *printed,
	int sign)
{
	mpq_srcptr farthest = sign > 0 ? value->high : value->low;

	if (sign * mpq_cmp(value->point.number, printed->first) > 0)
		return AL_REPRODUCED;
	return sign * mpq_cmp(farthest, printed->first) > 0 ? AL_CONSISTENT : AL_INCONSISTENT;
}

enum al_verdict judge(const struct claim *claim, const struct value *value,
	const struct printed *printed)
{
	if (claim->relation == RELATION_IN || claim->rounding == ROUNDING_RANGE)
		return judge_range(value, printed);
	if (claim->relation == RELATION_GREATER || claim->rounding == ROUNDING_MORE_THAN)
		return judge_order(value, printed, 1);
	if (claim->relation == RELATION_LESS || claim->rounding == ROUNDING_LESS_THAN)
		return judge_order(value, printed, -1);
	return judge_equal(claim, value, printed);
}
