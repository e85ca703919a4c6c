/* One polynomial in named factors, over FLINT. Bounds come before anything is multiplied. */

#include "formula/cases.h"

const struct al_terms *al_terms_from_int(struct al_pool *pool, int64_t value)
{
	struct al_terms *terms = al_terms_create(pool, NULL, 0);

	fmpq_mpoly_set_si(terms->value, value, terms->ctx);
	return terms;
}

const struct al_terms *al_terms_from_exact(struct al_pool *pool, mpq_srcptr value)
{
	struct al_terms *terms = al_terms_create(pool, NULL, 0);
	fmpq_t constant;

	fmpq_init(constant);
	fmpq_set_mpq(constant, value);
	fmpq_mpoly_set_fmpq(terms->value, constant, terms->ctx);
	fmpq_clear(constant);
	return terms;
}

const struct al_terms *al_terms_from_factor(struct al_pool *pool,
	const struct al_polynomial_factor *factor)
{
	const struct al_polynomial_factor **factors = al_new_array(&pool->arena,
		const struct al_polynomial_factor *, 1);
	struct al_terms *terms = al_terms_create(pool, factors, 1);

	factors[0] = factor;
	fmpq_mpoly_gen(terms->value, 0, terms->ctx);
	return terms;
}

/* ---- constants ---- */

bool al_terms_is_constant(const struct al_terms *terms)
{
	return fmpq_mpoly_is_fmpq(terms->value, terms->ctx);
}

void al_terms_get_constant(const struct al_terms *terms, mpq_t out)
{
	fmpq_t constant;

	fmpq_init(constant);
	fmpq_mpoly_get_fmpq(constant, terms->value, terms->ctx);
	fmpq_get_mpq(out, constant);
	fmpq_clear(constant);
}

bool al_terms_is_int(const struct al_terms *terms, int64_t value)
{
	return fmpq_mpoly_equal_si(terms->value, value, terms->ctx);
}

/* ---- sets of factors ---- */

static bool same_factors(const struct al_terms *a, const struct al_terms *b)
{
	if (a->n_factors != b->n_factors)
		return false;
	for (size_t i = 0; i < a->n_factors; i++)
		if (strcmp(a->factors[i]->name, b->factors[i]->name) != 0)
			return false;
	return true;
}

bool al_terms_equal(const struct al_terms *a, const struct al_terms *b)
{
	return same_factors(a, b) && fmpq_mpoly_equal(a->value, b->value, a->ctx);
}

/* The places of a's factors among `factors`; -1 where they are not there. Both are sorted by
 * name. */
static slong *positions(struct al_pool *pool, const struct al_terms *a,
	const struct al_polynomial_factor *const *factors, size_t n)
{
	slong *at = al_new_array(&pool->arena, slong, a->n_factors + 1);

	for (size_t i = 0, j = 0; i < a->n_factors; i++) {
		while (j < n && strcmp(factors[j]->name, a->factors[i]->name) < 0)
			j++;
		at[i] = j < n && strcmp(factors[j]->name, a->factors[i]->name) == 0 ? (slong)j : -1;
	}
	return at;
}

/* `a` in other factors, which hold all that it uses. */
static const struct al_terms *rewrite(struct al_pool *pool, const struct al_terms *a,
	const struct al_polynomial_factor **factors, size_t n)
{
	struct al_terms *terms = al_terms_create(pool, factors, n);
	slong *at = positions(pool, a, factors, n);

	fmpq_mpoly_compose_fmpq_mpoly_gen(terms->value, a->value, at, a->ctx, terms->ctx);
	return terms;
}

/* Rewrites both in the union of their factors, which must not be too many. */
static bool unite(struct al_pool *pool, const struct al_terms **a, const struct al_terms **b)
{
	if (same_factors(*a, *b))
		return true;

	const struct al_terms *x = *a, *y = *b;
	const struct al_polynomial_factor **all = al_new_array(&pool->arena,
		const struct al_polynomial_factor *, x->n_factors + y->n_factors);
	size_t n = 0;
	for (size_t i = 0, j = 0; i < x->n_factors || j < y->n_factors;) {
		int order = i == x->n_factors ? 1
			: j == y->n_factors   ? -1
					      : strcmp(x->factors[i]->name, y->factors[j]->name);
		all[n++] = order <= 0 ? x->factors[i] : y->factors[j];
		i += order <= 0;
		j += order >= 0;
	}
	if (n > AL_POLYNOMIAL_FACTORS)
		return al_fail(pool->err, AL_EINPUT,
			"needs more than %d factors (symbols, mods, ceil_divs and quotients with a "
			"remainder)",
			AL_POLYNOMIAL_FACTORS);
	*a = rewrite(pool, x, all, n);
	*b = rewrite(pool, y, all, n);
	return true;
}

/* Leaves out factors that cancelled. */
static const struct al_terms *trim(struct al_pool *pool, const struct al_terms *a)
{
	const struct al_polynomial_factor **used = al_new_array(&pool->arena,
		const struct al_polynomial_factor *, a->n_factors + 1);
	int *is_used = al_new_array(&pool->arena, int, a->n_factors + 1);
	size_t n = 0;

	fmpq_mpoly_used_vars(is_used, a->value, a->ctx);
	for (size_t i = 0; i < a->n_factors; i++)
		if (is_used[i])
			used[n++] = a->factors[i];
	return n == a->n_factors ? a : rewrite(pool, a, used, n);
}

/* ---- arithmetic ---- */

static bool fail(struct al_pool *pool, const char *message)
{
	return al_fail(pool->err, AL_EINPUT, "%s", message);
}

static const struct al_terms *add(struct al_pool *pool, enum al_operator op,
	const struct al_terms *a, const struct al_terms *b)
{
	if (!unite(pool, &a, &b))
		return NULL;
	struct al_terms *out = al_terms_create(pool, a->factors, a->n_factors);
	if (op == AL_OP_ADD)
		fmpq_mpoly_add(out->value, a->value, b->value, out->ctx);
	else
		fmpq_mpoly_sub(out->value, a->value, b->value, out->ctx);
	return al_terms_check(pool, out) ? trim(pool, out) : NULL;
}

static const struct al_terms *multiply(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b)
{
	if (!unite(pool, &a, &b) || !al_terms_check_product(pool, a, b))
		return NULL;
	struct al_terms *out = al_terms_create(pool, a->factors, a->n_factors);
	fmpq_mpoly_mul(out->value, a->value, b->value, out->ctx);
	return trim(pool, out);
}

static const struct al_terms *raise_to(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *exponent)
{
	ulong e = 0;

	while (e <= AL_FORMULA_EXPONENT && !al_terms_is_int(exponent, (int64_t)e))
		e++;
	if (e > AL_FORMULA_EXPONENT) {
		fail(pool, "an exponent that is not a whole number from 0 to 64");
		return NULL;
	}
	if (!al_terms_check_power(pool, a, (double)e))
		return NULL;
	struct al_terms *out = al_terms_create(pool, a->factors, a->n_factors);
	fmpq_mpoly_pow_ui(out->value, a->value, e, out->ctx);
	return trim(pool, out);
}

/* Divides both by the largest monomial that divides them. */
static void reduce(struct al_pool *pool, const struct al_terms **a, const struct al_terms **b)
{
	struct al_terms *common = al_terms_create(pool, (*a)->factors, (*a)->n_factors);
	struct al_terms *other = al_terms_create(pool, (*a)->factors, (*a)->n_factors);
	struct al_terms *x = al_terms_create(pool, (*a)->factors, (*a)->n_factors);
	struct al_terms *y = al_terms_create(pool, (*a)->factors, (*a)->n_factors);

	fmpq_mpoly_term_content(common->value, (*a)->value, common->ctx);
	fmpq_mpoly_term_content(other->value, (*b)->value, common->ctx);
	fmpq_mpoly_gcd(common->value, common->value, other->value, common->ctx);
	fmpq_mpoly_divides(x->value, (*a)->value, common->value, common->ctx);
	fmpq_mpoly_divides(y->value, (*b)->value, common->value, common->ctx);
	*a = trim(pool, x);
	*b = trim(pool, y);
}

/* The same with coefficients that are whole, coprime, the first one positive; `*content` takes what
 * it was multiplied with. */
static const struct al_terms *primitive(struct al_pool *pool, const struct al_terms *a,
	fmpq_t content)
{
	struct al_terms *out = al_terms_create(pool, a->factors, a->n_factors);

	fmpq_set(content, a->value->content);
	fmpz_mpoly_set(out->value->zpoly, a->value->zpoly, out->ctx->zctx);
	fmpq_one(out->value->content);
	return out;
}

/* A quotient that does not divide: a rational number times one opaque factor. */
static const struct al_terms *keep_quotient(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b)
{
	fmpq_t above, below;

	reduce(pool, &a, &b);
	fmpq_init(above);
	fmpq_init(below);
	a = primitive(pool, a, above);
	b = primitive(pool, b, below);
	fmpq_div(above, above, below);
	const struct al_polynomial_factor *factor = al_factor_create(pool, AL_OP_DIVIDE, NULL, a,
		b);
	struct al_terms *out = NULL;
	if (factor) {
		const struct al_terms *one = al_terms_from_factor(pool, factor);
		out = al_terms_create(pool, one->factors, 1);
		fmpq_mpoly_scalar_mul_fmpq(out->value, one->value, above, out->ctx);
	}
	fmpq_clear(above);
	fmpq_clear(below);
	return out;
}

static const struct al_terms *divide(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b)
{
	if (!unite(pool, &a, &b))
		return NULL;
	struct al_terms *out = al_terms_create(pool, a->factors, a->n_factors);
	if (!fmpq_mpoly_divides(out->value, a->value, b->value, out->ctx))
		return keep_quotient(pool, a, b);
	return al_terms_check(pool, out) ? trim(pool, out) : NULL;
}

/* ceil_div and mod: a number where both operands are. */
static const struct al_terms *divide_whole(struct al_pool *pool, enum al_operator op,
	const struct al_terms *a, const struct al_terms *b)
{
	if (!al_terms_is_constant(a) || !al_terms_is_constant(b)) {
		const struct al_polynomial_factor *factor = al_factor_create(pool, op, NULL, a, b);
		return factor ? al_terms_from_factor(pool, factor) : NULL;
	}

	AL_EXACT(left);
	AL_EXACT(right);
	al_terms_get_constant(a, left);
	al_terms_get_constant(b, right);
	const char *wrong = al_exact_apply(op, left, right, left);
	const struct al_terms *out = wrong ? NULL : al_terms_from_exact(pool, left);
	if (wrong)
		fail(pool, wrong);
	return out;
}

const struct al_terms *al_terms_apply(struct al_pool *pool, enum al_operator op,
	const struct al_terms *a, const struct al_terms *b)
{
	bool divides = op == AL_OP_DIVIDE || op == AL_OP_CEIL_DIV || op == AL_OP_MOD;

	if (divides && al_terms_is_int(b, 0)) {
		fail(pool, "division by zero");
		return NULL;
	}
	switch (op) {
	case AL_OP_ADD:
	case AL_OP_SUBTRACT:
		return add(pool, op, a, b);
	case AL_OP_MULTIPLY:
		return multiply(pool, a, b);
	case AL_OP_POWER:
		return raise_to(pool, a, b);
	case AL_OP_DIVIDE:
		return divide(pool, a, b);
	default:
		return divide_whole(pool, op, a, b);
	}
}
