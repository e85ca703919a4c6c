/* Polynomials by cases: private to this folder, and the only header that knows FLINT.
 *
 * `terms` is one polynomial in named factors, `cases` a decision tree over conditions with terms as
 * its leaves. Both are canonical and immutable. They live in the pool of the computation that made
 * them and may point at operands that outlive it; what is handed out is copied into a pool of its
 * own. */
#ifndef ATTNLEDGER_FORMULA_CASES_H
#define ATTNLEDGER_FORMULA_CASES_H

/* before FLINT, which declares what takes GMP's numbers only then */
#include <gmp.h>

#include <flint/fmpq_mpoly.h>

#include "formula/polynomial.h"
#include "formula/tree.h"

struct pool {
	struct al_arena arena;
	struct terms *newest; /* every terms of the pool, for FLINT to clear */
	struct al_error *err; /* where the computation says why it gave up */
};

void al_pool_init(struct pool *pool, struct al_error *err);
void al_pool_finish(struct pool *pool);

/* ---- terms ---- */

/* A symbol, or what stays whole: a rounded or inexact quotient, a remainder. */
struct factor {
	enum op op; /* OP_SYMBOL, OP_DIVIDE, OP_CEIL_DIV or OP_MOD */
	const char *name; /* its text; factors are equal where this is */
	const char *symbol; /* OP_SYMBOL: without its index */
	const struct terms *left, *right; /* operands; OP_SYMBOL: `left` is its index, or NULL */
};

struct terms {
	const struct factor **factors; /* by name, all of them used; FLINT's variables */
	size_t n_factors;
	fmpq_mpoly_ctx_t ctx; /* falling total degree, then lexicographic */
	fmpq_mpoly_t value;
	struct terms *older;
};

/* Zero in these factors, which the pool or an operand owns: for FLINT to write to. */
struct terms *al_terms_create(struct pool *pool, const struct factor **factors, size_t n_factors);

const struct terms *al_terms_from_int(struct pool *pool, int64_t value);
const struct terms *al_terms_from_exact(struct pool *pool, mpq_srcptr value);
const struct terms *al_terms_from_factor(struct pool *pool, const struct factor *factor);

/* The factor that `op` makes of its operands; NULL with the pool's error where its text is too
 * long. */
const struct factor *al_factor_create(struct pool *pool, enum op op, const char *symbol,
	const struct terms *left, const struct terms *right);

/* a op b for the arithmetic operators; NULL with the pool's error where a bound is exceeded. */
const struct terms *al_terms_apply(struct pool *pool, enum op op, const struct terms *a,
	const struct terms *b);

/* The bounds of polynomial.h, on a result or on what an operation would make. */
bool al_terms_check(struct pool *pool, const struct terms *a);
bool al_terms_check_product(struct pool *pool, const struct terms *a, const struct terms *b);
bool al_terms_check_power(struct pool *pool, const struct terms *a, double exponent);

bool al_terms_equal(const struct terms *a, const struct terms *b);
bool al_terms_is_int(const struct terms *terms, int64_t value);
bool al_terms_is_constant(const struct terms *terms);
void al_terms_get_constant(const struct terms *terms, mpq_t out);
const struct terms *al_terms_copy(struct pool *pool, const struct terms *terms);

/* ---- cases ---- */

struct condition {
	enum op op; /* OP_EQUAL, OP_NOT_EQUAL, OP_LESS or OP_GREATER */
	const struct terms *left, *right;
	const char *word; /* instead of `right`, or NULL */
	const char *text; /* conditions are equal, and ordered, as this is */
};

struct cases {
	const struct condition *condition; /* NULL: a leaf, which has `terms` */
	const struct cases *then, *otherwise;
	const struct terms *terms;
	size_t n_leaves;
};

const struct cases *al_cases_leaf(struct pool *pool, const struct terms *terms);

/* 1 where the condition holds (or where it doesn't, as `holds` says), otherwise 0. */
const struct cases *al_cases_indicator(struct pool *pool, const struct condition *condition,
	bool holds);

/* Operands may be NULL where they failed: then so is the result. Comparisons are worth 1 and 0. */
const struct cases *al_cases_apply(struct pool *pool, enum op op, const struct cases *a,
	const struct cases *b);
const struct cases *al_cases_choose(struct pool *pool, const struct cases *truth,
	const struct cases *then, const struct cases *otherwise);
const struct cases *al_cases_truth(struct pool *pool, const struct cases *cases);
const struct cases *al_cases_is_word(struct pool *pool, const struct cases *symbols,
	const char *word);

bool al_cases_equal(const struct cases *a, const struct cases *b);
const struct cases *al_cases_copy(struct pool *pool, const struct cases *cases);

/* ---- from formulas ---- */

const struct cases *al_cases_of(struct pool *pool, const struct al_formula *formula,
	const struct al_substitution *substitutions, size_t n_substitutions);

/* ---- text ---- */

/* The longest text of a factor or a condition that has operands. */
enum { AL_OPAQUE_TEXT = 1024 };

/* Stops soon after `limit` bytes where it isn't 0. */
void al_terms_text(const struct terms *terms, struct al_text *out, size_t limit);
void al_factor_text(const struct factor *factor, struct al_text *out, size_t limit);
void al_condition_text(const struct condition *condition, bool holds, struct al_text *out,
	size_t limit);
void al_cases_text(const struct cases *cases, struct al_text *out);
void al_cases_latex(const struct cases *cases,
	const char *(*name_of)(void *context, const char *symbol), void *context,
	struct al_text *out);

#endif
