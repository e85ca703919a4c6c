/* Canonical polynomials: what callers see of cases and terms. */

#include "formula/cases.h"

void al_polynomial_destroy(struct al_polynomial *polynomial)
{
	if (!polynomial)
		return;
	al_pool_finish(&polynomial->pool);
	free(polynomial);
}

/* `err`: where a computation in its pool records why it gave up. */
static struct al_polynomial *begin(struct al_error *err)
{
	struct al_polynomial *polynomial = al_calloc(1, sizeof(*polynomial));

	al_pool_init(&polynomial->pool, err);
	return polynomial;
}

/* False without a result. */
static bool hand_out(struct al_polynomial *polynomial, struct al_polynomial **out)
{
	*out = polynomial->cases ? polynomial : NULL;
	if (!*out)
		al_polynomial_destroy(polynomial);
	return *out;
}

struct al_polynomial *al_polynomial_from_int(int64_t value)
{
	struct al_polynomial *polynomial = begin(NULL);

	polynomial->cases = al_cases_number(&polynomial->pool, value);
	return polynomial;
}

bool al_polynomial_of(const struct al_formula *formula, const struct al_substitution *substitutions,
	size_t n_substitutions, struct al_polynomial **out, struct al_error *err)
{
	struct al_polynomial *polynomial = begin(err);

	polynomial->cases = al_cases_of(&polynomial->pool, formula, substitutions, n_substitutions);
	return hand_out(polynomial, out);
}

bool al_polynomial_difference(const struct al_polynomial *a, const struct al_polynomial *b,
	struct al_polynomial **out, struct al_error *err)
{
	struct al_polynomial *polynomial = begin(err);

	polynomial->cases = al_cases_apply(&polynomial->pool, AL_OP_SUBTRACT, a->cases, b->cases);
	return hand_out(polynomial, out);
}

static const struct al_cases *expand(struct al_pool *pool, const struct al_product *product,
	const struct al_substitutions *s)
{
	const struct al_cases *result = al_cases_number(pool, 1);

	for (size_t i = 0; result && i < product->n; i++)
		if (product->factors[i])
			result = al_cases_apply(pool, AL_OP_MULTIPLY, result,
				al_cases_of(pool, product->factors[i], s->items, s->n));
	if (!result || !product->when)
		return result;
	const struct al_cases *value = al_cases_of(pool, product->when, s->items, s->n);
	return al_cases_choose(pool, al_cases_truth(pool, value), result, al_cases_number(pool, 0));
}

bool al_polynomial_add(struct al_polynomial *sum, const struct al_product *product,
	const struct al_substitutions *substitutions, struct al_error *err)
{
	sum->pool.err = err;
	const struct al_cases *next = al_cases_apply(&sum->pool, AL_OP_ADD, sum->cases,
		expand(&sum->pool, product, substitutions));
	if (next)
		sum->cases = next;
	return next;
}

bool al_polynomial_equal(const struct al_polynomial *a, const struct al_polynomial *b)
{
	return al_cases_equal(a->cases, b->cases);
}

/* ---- degrees ---- */

static bool mentions(const struct al_terms *terms, const char *symbol)
{
	for (size_t i = 0; terms && i < terms->n_factors; i++) {
		const struct al_polynomial_factor *f = terms->factors[i];
		if ((f->op == AL_OP_SYMBOL && strcmp(f->symbol, symbol) == 0)
			|| mentions(f->left, symbol) || mentions(f->right, symbol))
			return true;
	}
	return false;
}

/* The largest of the factor. */
static int exponent_of(const struct al_terms *terms, size_t factor)
{
	int most = 0;

	for (size_t i = 0; i < terms->n; i++)
		most = al_most(al_terms_row(terms, i)[1 + factor], most);
	return most;
}

static bool degree_of_terms(const struct al_terms *terms, const char *symbol, int *degree,
	struct al_error *err)
{
	*degree = 0;
	for (size_t i = 0; i < terms->n_factors; i++) {
		const struct al_polynomial_factor *f = terms->factors[i];
		if (mentions(f->left, symbol) || mentions(f->right, symbol))
			return al_fail(err, AL_EINPUT,
				"the degree in %s is undecided: it occurs in %s", symbol, f->name);
		if (f->op == AL_OP_SYMBOL && strcmp(f->name, symbol) == 0)
			*degree = exponent_of(terms, i);
	}
	return true;
}

static bool degree_of_cases(const struct al_cases *cases, const char *symbol, int *degree,
	struct al_error *err)
{
	int other;

	if (!cases->condition)
		return degree_of_terms(cases->terms, symbol, degree, err);
	if (!degree_of_cases(cases->then, symbol, degree, err)
		|| !degree_of_cases(cases->otherwise, symbol, &other, err))
		return false;
	return *degree == other
		|| al_fail(err, AL_EINPUT,
			"the degree in %s is undecided: %d or %d, depending on %s", symbol, *degree,
			other, cases->condition->text);
}

bool al_polynomial_degree(const struct al_polynomial *polynomial, const char *symbol, int *degree,
	struct al_error *err)
{
	return degree_of_cases(polynomial->cases, symbol, degree, err);
}
