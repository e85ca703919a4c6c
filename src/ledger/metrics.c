/* How well a variant keeps a score, and what its parameters buy (Xue & Aletras 2023, section
 * 4.6). */
#include "ledger/ledger.h"

/* a/b - 1; `b` is not zero. */
static void relative_change(mpq_t out, mpq_srcptr a, mpq_srcptr b)
{
	mpq_div(out, a, b);
	mpz_sub(mpq_numref(out), mpq_numref(out), mpq_denref(out));
}

/*= Xue & Aletras 2023, section 4.6: PRR = score/score_MHA; for an inverse indicator (perplexity)
 * PRR = 1 - (score - score_MHA)/score_MHA */
bool al_retention(mpq_t out, mpq_srcptr score, mpq_srcptr reference, bool higher_is_better)
{
	if (mpq_sgn(reference) == 0)
		return false;
	AL_EXACT(part);
	relative_change(part, score, reference);
	mpq_set_ui(out, 1, 1);
	(higher_is_better ? mpq_add : mpq_sub)(out, out, part);
	mpq_set_ui(part, 100, 1);
	mpq_mul(out, out, part);
	return true;
}

/*= Xue & Aletras 2023, section 4.6: PEoP = (score/score_SHA - 1)/(params/params_SHA - 1), negated
 * for an inverse indicator */
bool al_elasticity(mpq_t out, mpq_srcptr score, mpq_srcptr base_score, mpq_srcptr parameters,
	mpq_srcptr base_parameters, bool higher_is_better)
{
	if (mpq_sgn(base_score) == 0 || mpq_sgn(base_parameters) == 0
		|| mpq_equal(parameters, base_parameters))
		return false;
	AL_EXACT(growth);
	relative_change(growth, parameters, base_parameters);
	relative_change(out, score, base_score);
	mpq_div(out, out, growth);
	if (!higher_is_better)
		mpq_neg(out, out);
	return true;
}
