/* One polynomial in named factors. Bounds come before anything is multiplied. */

#include "formula/cases.h"

/* content * factor, or the content alone. */
static const struct al_terms *from(struct al_pool *pool,
	const struct al_polynomial_factor *const *factor, mpq_srcptr content)
{
	static const unsigned char row[] = {1, 1}, constant[] = {0};

	AL_EXACT(one);
	al_exact_set(one, 1);
	AL_SUM(sum, factor ? 1 : 0);
	al_sum_add(&sum, factor ? row : constant, mpq_numref(one), mpq_numref(one));
	return al_sum_terms(&sum, pool, factor, content);
}

const struct al_terms *al_terms_from_int(struct al_pool *pool, int64_t value)
{
	AL_EXACT(content);
	al_exact_set(content, value);
	return al_terms_from_exact(pool, content);
}

const struct al_terms *al_terms_from_exact(struct al_pool *pool, mpq_srcptr value)
{
	return from(pool, NULL, value);
}

const struct al_terms *al_terms_from_factor(struct al_pool *pool,
	const struct al_polynomial_factor *factor)
{
	AL_EXACT(one);
	al_exact_set(one, 1);
	return from(pool, &factor, one);
}

/* ---- the simplest ---- */

bool al_terms_is_constant(const struct al_terms *terms)
{
	return terms->n_factors == 0;
}

bool al_terms_is_int(const struct al_terms *terms, long value)
{
	return terms->n_factors == 0 && mpq_cmp_si(terms->content, value, 1) == 0;
}

bool al_terms_is_factor(const struct al_terms *terms)
{
	return terms->n_factors == 1 && terms->n == 1 && terms->rows[0] == 1
		&& mpq_cmp_si(terms->content, 1, 1) == 0;
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
	if (!same_factors(a, b) || a->n != b->n || !mpq_equal(a->content, b->content)
		|| memcmp(a->rows, b->rows, a->n * (1 + a->n_factors)) != 0)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (mpz_cmp(&a->coefficients[i], &b->coefficients[i]) != 0)
			return false;
	return true;
}

/* `a` in other factors, which hold all that it uses; both are sorted by name. */
static const struct al_terms *rewrite(struct al_pool *pool, const struct al_terms *a,
	const struct al_polynomial_factor *const *factors, size_t n)
{
	struct al_terms *terms = al_new(&pool->arena, struct al_terms);
	unsigned char *rows = al_new_array(&pool->arena, unsigned char, a->n *(1 + n));

	for (size_t i = 0; i < a->n; i++)
		rows[i * (1 + n)] = al_terms_row(a, i)[0];
	for (size_t f = 0, to = 0; f < a->n_factors; f++) {
		while (strcmp(factors[to]->name, a->factors[f]->name) != 0)
			to++;
		for (size_t i = 0; i < a->n; i++)
			rows[i * (1 + n) + 1 + to] = al_terms_row(a, i)[1 + f];
	}
	*terms = *a;
	terms->factors = factors;
	terms->n_factors = n;
	terms->rows = rows;
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

/* ---- arithmetic ---- */

static bool fail(struct al_pool *pool, const char *message)
{
	return al_fail(pool->err, AL_EINPUT, "%s", message);
}

/* The largest content that divides both wholly. */
static void share(mpq_t out, mpq_srcptr a, mpq_srcptr b)
{
	mpz_gcd(mpq_numref(out), mpq_numref(a), mpq_numref(b));
	mpz_lcm(mpq_denref(out), mpq_denref(a), mpq_denref(b));
}

static void add_all(struct al_sum *sum, const struct al_terms *a, mpz_srcptr times)
{
	for (size_t i = 0; i < a->n; i++)
		al_sum_add(sum, al_terms_row(a, i), &a->coefficients[i], times);
}

static const struct al_terms *add(struct al_pool *pool, enum al_operator op,
	const struct al_terms *a, const struct al_terms *b)
{
	if (a->n + b->n == 0)
		return a;
	if (!unite(pool, &a, &b))
		return NULL;
	AL_SUM(sum, a->n_factors);
	AL_EXACT(shared);
	AL_EXACT(times);
	share(shared, a->content, b->content);
	mpq_div(times, a->content, shared);
	add_all(&sum, a, mpq_numref(times));
	mpq_div(times, b->content, shared);
	if (op == AL_OP_SUBTRACT)
		mpq_neg(times, times);
	add_all(&sum, b, mpq_numref(times));
	const struct al_terms *out = al_sum_terms(&sum, pool, a->factors, shared);
	return al_terms_check(pool, out) ? out : NULL;
}

/* Adds the product with one term, of that row and coefficient. */
static void add_product(struct al_sum *sum, const struct al_terms *a, const unsigned char *by,
	mpz_srcptr coefficient, unsigned char *row)
{
	for (size_t i = 0; i < a->n; i++) {
		for (size_t c = 0; c < sum->width; c++)
			row[c] = (unsigned char)(al_terms_row(a, i)[c] + by[c]);
		al_sum_add(sum, row, &a->coefficients[i], coefficient);
	}
}

/* Of two in the same factors. */
static const struct al_terms *product(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b)
{
	AL_SUM(sum, a->n_factors);
	AL_EXACT(content);
	unsigned char *row = al_new_array(&sum.arena, unsigned char, sum.width);

	for (size_t i = 0; i < a->n; i++)
		add_product(&sum, b, al_terms_row(a, i), &a->coefficients[i], row);
	mpq_mul(content, a->content, b->content);
	return al_sum_terms(&sum, pool, a->factors, content);
}

static const struct al_terms *multiply(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b)
{
	return unite(pool, &a, &b) && al_terms_check_product(pool, a, b) ? product(pool, a, b)
									 : NULL;
}

static const struct al_terms *raise_to(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *exponent)
{
	long e = 0;

	while (e <= AL_FORMULA_EXPONENT && !al_terms_is_int(exponent, e))
		e++;
	if (e > AL_FORMULA_EXPONENT) {
		fail(pool, "an exponent that is not a whole number from 0 to 64");
		return NULL;
	}
	if (!al_terms_check_power(pool, a, (double)e))
		return NULL;
	const struct al_terms *out = e > 0 ? a : al_terms_from_int(pool, 1);
	for (; e > 1; e--)
		out = product(pool, out, a);
	return out;
}

/* ---- division ---- */

/* A division gives up where its quotient or what is left grows beyond what would be refused. */
enum { MOST_LEFT = 4 * AL_POLYNOMIAL_TERMS };

/* The largest exponents of each factor, and the largest degree. */
static void find_degrees(const struct al_terms *a, unsigned char *out)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t c = 0; c <= a->n_factors; c++)
			if (al_terms_row(a, i)[c] > out[c])
				out[c] = al_terms_row(a, i)[c];
}

/* The term of the quotient that cancels one of what is left: `row` becomes its row. False where
 * none does, or where it has a degree that the quotient can't have. */
static bool divide_term(unsigned char *row, mpz_t coefficient, const struct al_terms *b,
	const unsigned char *most)
{
	for (size_t c = 0; c <= b->n_factors; c++) {
		if (row[c] < b->rows[c] || row[c] - b->rows[c] > most[c])
			return false;
		row[c] = (unsigned char)(row[c] - b->rows[c]);
	}
	if (!mpz_divisible_p(coefficient, &b->coefficients[0]))
		return false;
	mpz_divexact(coefficient, coefficient, &b->coefficients[0]);
	return true;
}

/* Takes `left` apart, largest term first. Coprime coefficients of both make the quotient's whole
 * (Gauss's lemma). */
static bool divide_left(struct al_sum *left, const struct al_terms *b, const unsigned char *most,
	struct al_sum *quotient)
{
	unsigned char *row = al_new_array(&left->arena, unsigned char, left->width),
		      *by = al_new_array(&left->arena, unsigned char, left->width);
	const unsigned char *next;
	mpz_srcptr coefficient;
	AL_EXACT(term);
	AL_EXACT(one);

	al_exact_set(one, 1);
	for (size_t i = 0; (next = al_sum_next(left, &i, &coefficient));) {
		memcpy(by, next, left->width);
		mpz_set(mpq_numref(term), coefficient);
		if (!divide_term(by, mpq_numref(term), b, most) || quotient->n > AL_POLYNOMIAL_TERMS
			|| left->n > MOST_LEFT)
			return false;
		al_sum_add(quotient, by, mpq_numref(term), mpq_numref(one));
		mpz_neg(mpq_numref(term), mpq_numref(term));
		add_product(left, b, by, mpq_numref(term), row);
	}
	return true;
}

/* a / b, which isn't 0, in the same factors; NULL where it doesn't divide. */
static const struct al_terms *divide_exactly(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b)
{
	AL_SUM(left, a->n_factors);
	AL_SUM(quotient, a->n_factors);
	AL_EXACT(content);
	unsigned char *most = al_new_array(&left.arena, unsigned char, left.width),
		      *of_b = al_new_array(&left.arena, unsigned char, left.width);

	find_degrees(a, most);
	find_degrees(b, of_b);
	for (size_t c = 0; c < left.width; c++) {
		if (a->n > 0 && most[c] < of_b[c])
			return NULL;
		most[c] = (unsigned char)(most[c] - of_b[c]);
	}
	al_exact_set(content, 1);
	add_all(&left, a, mpq_numref(content));
	if (!divide_left(&left, b, most, &quotient))
		return NULL;
	mpq_div(content, a->content, b->content);
	return al_sum_terms(&quotient, pool, a->factors, content);
}

/* Lowers the exponents of `common` to those of a's terms. */
static void find_common(const struct al_terms *a, unsigned char *common)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t f = 1; f <= a->n_factors; f++)
			if (al_terms_row(a, i)[f] < common[f])
				common[f] = al_terms_row(a, i)[f];
}

/* The same over the largest monomial that divides a and b, with content 1. */
static const struct al_terms *reduce(struct al_pool *pool, const struct al_terms *a,
	const unsigned char *common)
{
	AL_SUM(sum, a->n_factors);
	AL_EXACT(one);
	unsigned char *row = al_new_array(&sum.arena, unsigned char, sum.width);

	al_exact_set(one, 1);
	for (size_t i = 0; i < a->n; i++) {
		for (size_t c = 0; c < sum.width; c++)
			row[c] = (unsigned char)(al_terms_row(a, i)[c] - common[c]);
		al_sum_add(&sum, row, &a->coefficients[i], mpq_numref(one));
	}
	return al_sum_terms(&sum, pool, a->factors, one);
}

/* A quotient that does not divide: a rational number times one opaque factor. */
static const struct al_terms *keep_quotient(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b)
{
	unsigned char common[1 + AL_POLYNOMIAL_FACTORS];
	AL_EXACT(content);

	memset(common, AL_POLYNOMIAL_DEGREE, sizeof(common));
	find_common(a, common);
	find_common(b, common);
	common[0] = 0;
	for (size_t f = 1; f <= a->n_factors; f++)
		common[0] = (unsigned char)(common[0] + common[f]);
	const struct al_polynomial_factor *factor = al_factor_create(pool, AL_OP_DIVIDE, NULL,
		reduce(pool, a, common), reduce(pool, b, common));
	mpq_div(content, a->content, b->content);
	return factor ? from(pool, &factor, content) : NULL;
}

static const struct al_terms *divide(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b)
{
	if (!unite(pool, &a, &b))
		return NULL;
	const struct al_terms *out = divide_exactly(pool, a, b);
	if (!out)
		return keep_quotient(pool, a, b);
	return al_terms_check(pool, out) ? out : NULL;
}

/* ceil_div and mod: a number where both operands are. */
static const struct al_terms *divide_whole(struct al_pool *pool, enum al_operator op,
	const struct al_terms *a, const struct al_terms *b)
{
	if (!al_terms_is_constant(a) || !al_terms_is_constant(b)) {
		const struct al_polynomial_factor *factor = al_factor_create(pool, op, NULL, a, b);
		return factor ? al_terms_from_factor(pool, factor) : NULL;
	}

	AL_EXACT(result);
	const char *wrong = al_exact_apply(op, a->content, b->content, result);
	const struct al_terms *out = wrong ? NULL : al_terms_from_exact(pool, result);
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
