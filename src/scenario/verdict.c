/* Verdicts: the numbers that would be printed so, and how a value compares with them. */
#include "scenario/verdict.h"

#include "base/number.h"

/* ---- the printed number ---- */

/* "About" a fraction p/q is what has it as a convergent: within 1/(2q^2) of it (Legendre). */
static void allow_fraction(bool is_about, struct al_printed *printed)
{
	mpq_t width;

	mpq_set(printed->low, printed->first);
	mpq_set(printed->high, printed->last);
	if (!is_about)
		return;
	mpq_init(width);
	mpz_set_ui(mpq_numref(width), 1);
	mpz_mul(mpq_denref(width), mpq_denref(printed->first), mpq_denref(printed->first));
	mpz_mul_ui(mpq_denref(width), mpq_denref(width), 2);
	mpq_sub(printed->low, printed->first, width);
	mpq_add(printed->high, printed->last, width);
	mpq_clear(width);
}

void al_claim_allow_rounding(const struct al_scenario_claim *claim, struct al_printed *printed)
{
	bool is_about = claim->is_approximate || claim->rounding == AL_ROUNDING_ABOUT
		|| printed->is_about;
	mpq_t below, above, unit;

	if (printed->is_fraction) {
		allow_fraction(is_about, printed);
		return;
	}
	mpq_inits(below, above, unit, NULL);
	al_exact_unit(unit, printed->digits, 1);
	al_exact_unit(below, printed->digits, 2);
	mpq_set(above, below);
	if (claim->rounding == AL_ROUNDING_TRUNCATED) {
		mpq_set_ui(mpq_sgn(printed->first) < 0 ? above : below, 0, 1);
		mpq_set(mpq_sgn(printed->first) < 0 ? below : above, unit);
	}
	if (is_about) {
		mpq_add(below, below, unit);
		mpq_add(above, above, unit);
	}
	mpq_sub(printed->low, printed->first, below);
	mpq_add(printed->high, printed->last, above);
	mpq_clears(below, above, unit, NULL);
}

/* ---- what it asks of a value ---- */

/* Would the point be printed so? */
static bool prints_as(const struct al_scenario_claim *claim, mpq_srcptr point,
	const struct al_printed *printed)
{
	mpq_t shown;

	if (printed->is_fraction)
		return mpq_equal(point, printed->first);
	mpq_init(shown);
	if (claim->rounding == AL_ROUNDING_TRUNCATED)
		al_exact_truncate(shown, point, printed->digits);
	else
		al_exact_round(shown, point, printed->digits);
	bool same = mpq_equal(shown, printed->first);
	mpq_clear(shown);
	return same;
}

enum request { EQUAL, WITHIN, GREATER, LESS };

static enum request request_of(const struct al_scenario_claim *claim)
{
	if (claim->relation == AL_RELATION_IN || claim->rounding == AL_ROUNDING_RANGE)
		return WITHIN;
	if (claim->relation == AL_RELATION_GREATER || claim->rounding == AL_ROUNDING_MORE_THAN)
		return GREATER;
	if (claim->relation == AL_RELATION_LESS || claim->rounding == AL_ROUNDING_LESS_THAN)
		return LESS;
	return EQUAL;
}

bool al_claim_is_equality(const struct al_scenario_claim *claim)
{
	return request_of(claim) == EQUAL;
}

/* In units of the printed number's scale. */
static bool prints_scaled(const struct al_scenario_claim *claim, mpq_srcptr value,
	const struct al_printed *printed)
{
	switch (request_of(claim)) {
	case WITHIN:
		return mpq_cmp(value, printed->first) >= 0 && mpq_cmp(value, printed->last) <= 0;
	case GREATER:
		return mpq_cmp(value, printed->first) > 0;
	case LESS:
		return mpq_cmp(value, printed->first) < 0;
	case EQUAL:
		break;
	}
	return prints_as(claim, value, printed);
}

bool al_claim_is_reproduced(const struct al_scenario_claim *claim, mpq_srcptr value,
	const struct al_printed *printed)
{
	mpq_t scaled;

	mpq_init(scaled);
	mpq_set(scaled, value);
	al_exact_divide(scaled, printed->scale);
	bool is = prints_scaled(claim, scaled, printed);
	mpq_clear(scaled);
	return is;
}

void al_target_init(struct al_target *target, const struct al_scenario_claim *claim,
	const struct al_printed *printed, int64_t factor)
{
	enum request request = request_of(claim);
	bool is_order = request == GREATER || request == LESS;

	*target = (struct al_target){.has_low = request != LESS,
		.has_high = request != GREATER,
		.is_open = is_order};
	mpq_inits(target->low, target->high, NULL);
	mpq_set(target->low, is_order ? printed->first : printed->low);
	mpq_set(target->high, is_order ? printed->first : printed->high);
	al_exact_multiply(target->low, printed->scale);
	al_exact_multiply(target->high, printed->scale);
	al_exact_multiply(target->low, factor);
	al_exact_multiply(target->high, factor);
}

void al_target_finish(struct al_target *target)
{
	mpq_clears(target->low, target->high, NULL);
}
