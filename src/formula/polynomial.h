/* Canonical polynomials in named symbols with rational coefficients, possibly by cases.
 *
 * What a variant's tensors add up to: the sum is canonical, so that two formulas are equal exactly
 * where their polynomials are. Piecewise formulas (if, min, max, a condition on a symbol) become
 * cases, each a condition and a polynomial. ceil_div and mod, and a quotient that does not divide,
 * are kept as one opaque factor; a degree is refused where it is not decided. */
#pragma once

#include "formula/formula.h"

/* Bounds on what is expanded, from the operands before each operation: a power that exceeds them is
 * refused, not computed. */
enum {
	AL_POLYNOMIAL_DEGREE = 16,
	AL_POLYNOMIAL_TERMS = 4096,
	AL_POLYNOMIAL_BITS = 4096,
	AL_POLYNOMIAL_CASES = 16,
	AL_POLYNOMIAL_FACTORS = 64, /* symbols, and what is kept whole (mod, say): each one a column
				       of exponents of each term */
};

struct al_polynomial; /* one or more cases; heap */

/* A symbol and the formula that takes its place, applied once, all at the same time. What holds
 * within that formula are substitutions of its own; they don't come back to the symbol. */
struct al_substitution {
	const char *symbol;
	const struct al_formula *formula;
	const struct al_substitutions *within; /* NULL: none */
};

struct al_substitutions {
	struct al_substitution *items;
	size_t n, room;
};

/* destroy(NULL) is safe. */
void al_polynomial_destroy(struct al_polynomial *polynomial);

struct al_polynomial *al_polynomial_from_int(int64_t value) AL_MUST_CHECK;

/* A function that fails leaves NULL in *out. Errors of a formula begin with its column. */

/* The canonical polynomial of a formula after substitution. A condition that is decided by
 * constants picks its branch; an undecided one makes cases. */
bool al_polynomial_of(const struct al_formula *formula, const struct al_substitution *substitutions,
	size_t n_substitutions, struct al_polynomial **out, struct al_error *err) AL_MUST_CHECK;

/* A new polynomial, case by case where there are cases; it may point at the operands, which must
 * outlive it. */
bool al_polynomial_difference(const struct al_polynomial *a, const struct al_polynomial *b,
	struct al_polynomial **out, struct al_error *err) AL_MUST_CHECK;

enum { AL_PRODUCT_FACTORS = 10 };

/* Factors, of which NULL is 1, where a condition holds, otherwise zero: a tensor with "when". */
struct al_product {
	const struct al_formula *factors[AL_PRODUCT_FACTORS];
	size_t n;
	const struct al_formula *when; /* NULL: everywhere */
};

/* sum += product, after substitution; on failure the sum stays as it was. */
bool al_polynomial_add(struct al_polynomial *sum, const struct al_product *product,
	const struct al_substitutions *substitutions, struct al_error *err) AL_MUST_CHECK;

bool al_polynomial_equal(const struct al_polynomial *a, const struct al_polynomial *b);

/* The degree in a symbol; 0 where it does not occur. With cases: the common degree, or an error; an
 * error too where the symbol is inside an opaque factor. The zero polynomial has degree 0. */
bool al_polynomial_degree(const struct al_polynomial *polynomial, const char *symbol, int *degree,
	struct al_error *err) AL_MUST_CHECK;

/* Terms by falling total degree, then by symbol: "3*d_head^2*n_heads^2 - 3*d_head^2*n_heads".
 * Cases: "A if C; B if D and E; F otherwise". `name_of` gives a symbol's LaTeX; NULL, or where it
 * answers NULL: the symbol itself, escaped. */
void al_polynomial_text(const struct al_polynomial *polynomial, struct al_text *out);
void al_polynomial_latex(const struct al_polynomial *polynomial,
	const char *(*name_of)(void *context, const char *symbol), void *context,
	struct al_text *out);
