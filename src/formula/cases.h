/* Polynomials by cases: private to this folder.
 *
 * `terms` is one polynomial in named factors, `cases` a decision tree over conditions with terms as
 * its leaves. Both are canonical and immutable. They live in the pool of the polynomial that they
 * were computed for, with all that came before them, and may point at operands that outlive it. */
#pragma once

#include "formula/polynomial.h"
#include "formula/tree.h"

struct al_pool {
	struct al_arena arena;
	struct al_error *err; /* where the computation records why it gave up */
};

void al_pool_init(struct al_pool *pool, struct al_error *err);
void al_pool_finish(struct al_pool *pool);

/* ---- terms ---- */

/* A symbol, or what stays whole: a rounded or inexact quotient, a remainder. */
struct al_polynomial_factor {
	enum al_operator op; /* AL_OP_SYMBOL, AL_OP_DIVIDE, AL_OP_CEIL_DIV or AL_OP_MOD */
	const char *name; /* its text; factors are equal where this is */
	const char *symbol; /* AL_OP_SYMBOL: without its index */
	const struct al_terms *left,
		*right; /* operands; AL_OP_SYMBOL: `left` is its index, or NULL */
};

/* content * (the sum of coefficient * factor^exponent * ...): the coefficients are whole and
 * coprime, the first is positive. A row is a term's degree and then the exponent of each factor:
 * rows fall as bytes do, by degree and then by the factors in their order. */
struct al_terms {
	const struct al_polynomial_factor *const *factors; /* by name, all of them used */
	size_t n_factors;
	mpq_srcptr content; /* 0 where there are no terms */
	size_t n;
	const unsigned char *rows; /* [n][1 + n_factors] */
	mpz_srcptr coefficients; /* [n] */
};

static inline const unsigned char *al_terms_row(const struct al_terms *terms, size_t i)
{
	return terms->rows + i * (1 + terms->n_factors);
}

const struct al_terms *al_terms_from_int(struct al_pool *pool, int64_t value);
const struct al_terms *al_terms_from_exact(struct al_pool *pool, mpq_srcptr value);
const struct al_terms *al_terms_from_factor(struct al_pool *pool,
	const struct al_polynomial_factor *factor);

/* The factor that `op` makes of its operands; NULL with the pool's error where its text is too
 * long. */
const struct al_polynomial_factor *al_factor_create(struct al_pool *pool, enum al_operator op,
	const char *symbol, const struct al_terms *left, const struct al_terms *right);

/* a op b for the arithmetic operators; NULL with the pool's error where a bound is exceeded. */
const struct al_terms *al_terms_apply(struct al_pool *pool, enum al_operator op,
	const struct al_terms *a, const struct al_terms *b);

/* The bounds of polynomial.h, on a result or on what an operation would make. */
bool al_terms_check(struct al_pool *pool, const struct al_terms *a);
bool al_terms_check_product(struct al_pool *pool, const struct al_terms *a,
	const struct al_terms *b);
bool al_terms_check_power(struct al_pool *pool, const struct al_terms *a, double exponent);

bool al_terms_equal(const struct al_terms *a, const struct al_terms *b);
bool al_terms_is_int(const struct al_terms *terms, long value);
bool al_terms_is_constant(const struct al_terms *terms); /* which is `content` */
bool al_terms_is_factor(const struct al_terms *terms);

/* ---- sums ---- */

/* Terms in given factors while they are added up. */
struct al_sum {
	struct al_arena arena;
	size_t width; /* of a row */
	struct al_summand **parts; /* by falling rows; some may be 0 */
	size_t n, room;
};

/* A sum of the block that it is declared in: nothing at first. */
#define AL_SUM(name, n_factors) \
	AL_ENDS(al_sum_finish) struct al_sum name; \
	al_sum_init(&(name), (n_factors))
void al_sum_init(struct al_sum *sum, size_t n_factors);
void al_sum_finish(struct al_sum *sum);

/* Adds a * b * (the row's factors). */
void al_sum_add(struct al_sum *sum, const unsigned char *row, mpz_srcptr a, mpz_srcptr b);

/* The part with the largest row from number *i on that isn't 0, whose number *i then is: its row,
 * and its coefficient; NULL: there is none. */
const unsigned char *al_sum_next(const struct al_sum *sum, size_t *i, mpz_srcptr *coefficient);

/* content * sum, without the factors that cancelled. */
const struct al_terms *al_sum_terms(struct al_sum *sum, struct al_pool *pool,
	const struct al_polynomial_factor *const *factors, mpq_srcptr content);

/* ---- cases ---- */

struct al_condition {
	enum al_operator op; /* AL_OP_EQUAL, AL_OP_NOT_EQUAL, AL_OP_LESS or AL_OP_GREATER */
	const struct al_terms *left, *right;
	const char *word; /* instead of `right`, or NULL */
	const char *text; /* conditions are equal, and ordered, as this is */
};

struct al_cases {
	const struct al_condition *condition; /* NULL: a leaf, which has `terms` */
	const struct al_cases *then, *otherwise;
	const struct al_terms *terms;
	size_t n_leaves;
};

const struct al_cases *al_cases_leaf(struct al_pool *pool, const struct al_terms *terms);
const struct al_cases *al_cases_number(struct al_pool *pool, int64_t value);

/* 1 where the condition holds (with `holds` false: where it doesn't), otherwise 0. */
const struct al_cases *al_cases_indicator(struct al_pool *pool,
	const struct al_condition *condition, bool holds);

/* Operands may be NULL where they failed: then so is the result. Comparisons are worth 1 and 0. */
const struct al_cases *al_cases_apply(struct al_pool *pool, enum al_operator op,
	const struct al_cases *a, const struct al_cases *b);
const struct al_cases *al_cases_choose(struct al_pool *pool, const struct al_cases *truth,
	const struct al_cases *then, const struct al_cases *otherwise);
const struct al_cases *al_cases_truth(struct al_pool *pool, const struct al_cases *cases);
const struct al_cases *al_cases_is_word(struct al_pool *pool, const struct al_cases *symbols,
	const char *word);

struct al_polynomial {
	struct al_pool pool;
	const struct al_cases *cases;
};

bool al_cases_equal(const struct al_cases *a, const struct al_cases *b);

/* ---- from formulas ---- */

const struct al_cases *al_cases_of(struct al_pool *pool, const struct al_formula *formula,
	const struct al_substitution *substitutions, size_t n_substitutions);

/* ---- text ---- */

/* The longest text of a factor or a condition that has operands. */
enum { AL_OPAQUE_TEXT = 1024 };

/* Finishes the text, and keeps it where it is no longer than that; otherwise NULL with the pool's
 * error, which names its subject. */
const char *al_pool_keep_text(struct al_pool *pool, struct al_text *text, const char *what);

/* Stops soon after `limit` bytes where it isn't 0. */
void al_terms_text(const struct al_terms *terms, struct al_text *out, size_t limit);
void al_factor_text(const struct al_polynomial_factor *factor, struct al_text *out, size_t limit);
void al_condition_text(const struct al_condition *condition, bool holds, struct al_text *out,
	size_t limit);
