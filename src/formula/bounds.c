/* Bounds on the size of polynomials, from the operands before anything is expanded. */
#include "formula/cases.h"

struct size {
	double degree, terms, bits;
};

static struct size size_of(const struct al_terms *a)
{
	double bits = 0;

	for (size_t i = 0; i < a->n; i++)
		bits = fmax(bits, (double)mpz_sizeinbase(&a->coefficients[i], 2));
	return (struct size){
		.degree = a->n > 0 ? (double)a->rows[0] : 0,
		.terms = (double)a->n,
		.bits = bits
			+ fmax((double)mpz_sizeinbase(mpq_numref(a->content), 2),
				(double)mpz_sizeinbase(mpq_denref(a->content), 2)),
	};
}

/* n over k, or something beyond every bound. */
static double binomial(double n, double k)
{
	double result = 1;

	for (double i = 1; i <= k && result <= 1e12; i++)
		result = result * (n - k + i) / i;
	return result;
}

/* At most all monomials of that degree in so many factors. */
static double monomials(double degree, size_t n_factors)
{
	return binomial(degree + (double)n_factors, al_least(degree, (double)n_factors));
}

static bool check_size(struct al_pool *pool, struct size size)
{
	if (size.degree > AL_POLYNOMIAL_DEGREE)
		return al_fail(pool->err, AL_EINPUT, "expands to degree %.0f, expected at most %d",
			size.degree, AL_POLYNOMIAL_DEGREE);
	if (size.terms > AL_POLYNOMIAL_TERMS)
		return al_fail(pool->err, AL_EINPUT, "expands to more than %d terms",
			AL_POLYNOMIAL_TERMS);
	if (size.bits > AL_POLYNOMIAL_BITS)
		return al_fail(pool->err, AL_EINPUT, "expands to coefficients of more than %d bits",
			AL_POLYNOMIAL_BITS);
	return true;
}

/* Bits that a sum of `terms` products adds. */
static double carry(double terms)
{
	return terms > 1 ? 1 + (double)ilogb(al_least(terms, 1e12)) : 0;
}

bool al_terms_check_product(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b)
{
	struct size x = size_of(a), y = size_of(b);
	double degree = x.degree + y.degree;

	return check_size(pool,
		(struct size){
			.degree = degree,
			.terms = al_least(x.terms * y.terms, monomials(degree, a->n_factors)),
			.bits = x.bits + y.bits + carry(al_least(x.terms, y.terms)),
		});
}

bool al_terms_check_power(struct al_pool *pool, const struct al_terms *a, double exponent)
{
	struct size x = size_of(a);
	double degree = x.degree * exponent;

	return check_size(pool,
		(struct size){
			.degree = degree,
			.terms = al_least(binomial(x.terms + exponent - 1, exponent),
				monomials(degree, a->n_factors)),
			.bits = (x.bits + carry(x.terms)) * exponent,
		});
}

bool al_terms_check(struct al_pool *pool, const struct al_terms *a)
{
	return check_size(pool, size_of(a));
}
