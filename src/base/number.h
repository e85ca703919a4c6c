/* Exact numbers: 64-bit counts, rationals (GMP's mpq), and decimals as papers print them.
 *
 * An `mpq_srcptr` that comes from an arena is immutable, canonical (lowest terms, positive
 * denominator) and may be used wherever GMP takes a source operand. */
#pragma once

#include <gmp.h>
#include <stdint.h>

#include "base/arena.h"

/* ---- counts ---- */

/* How many digits the text begins with, and their number, from 0 on; -1 where it is 2^63 or more.
 * No sign and no space is taken; after the digits something else must follow, be it the NUL. */
size_t al_read_digits(const char *text, int64_t *out);

/* The same of a context's tokens, which k behind the digits counts in units of 1024, and M in those
 * of 1024^2. */
size_t al_read_tokens(const char *text, int64_t *out);

/* a/b, rounded up, of a >= 0 and b > 0. */
int64_t al_divide_up(int64_t a, int64_t b);

/* `factor` times all dimensions. False where one is negative, or where the product of those that
 * aren't zero is beyond 2^63 - 1: who multiplies in another order would overflow. */
bool al_multiply_dims(int64_t factor, const int64_t *dims, size_t n_dims,
	int64_t *out) AL_MUST_CHECK;

/* A number of the block that it is declared in: 0 at first, cleared where the block ends. */
#define AL_EXACT(name) \
	AL_ENDS(al_exact_clear) mpq_t name; \
	mpq_init(name)
void al_exact_clear(mpq_t *number);

/* ---- whole numbers, where GMP takes a long, which may have 32 bits ---- */

void al_integer_set(mpz_t z, int64_t value);
void al_integer_multiply(mpz_t z, int64_t factor);

/* False, and the nearest number that 64 bits hold, where `z` is beyond them. */
bool al_integer_get(mpz_srcptr z, int64_t *out);

/* `q` without its fraction, and rounded up; of one beyond 64 bits the nearest that they hold. */
int64_t al_exact_whole(mpq_srcptr q);
int64_t al_exact_ceil(mpq_srcptr q);

/* ---- arithmetic in place, of a canonical `q` ---- */

void al_exact_set(mpq_t q, int64_t value);
void al_exact_add(mpq_t sum, mpq_srcptr term);
void al_exact_multiply(mpq_t q, int64_t factor);
void al_exact_divide(mpq_t q, int64_t divisor); /* divisor > 0 */
void al_exact_keep_least(mpq_t least, mpq_srcptr q); /* least = min(least, q) */
void al_exact_keep_most(mpq_t most, mpq_srcptr q); /* most = max(most, q) */

/* Percent of `base` that `value` saves, 100*(1 - value/base); false, and nothing set, where `base`
 * is zero. `percent` may be `value`. */
bool al_exact_saving(mpq_t percent, mpq_srcptr value, mpq_srcptr base) AL_MUST_CHECK;

/* ---- in an arena ---- */

/* A number to count with, 0 at first; it is cleared with the arena. */
mpq_ptr al_exact_new(struct al_arena *arena);

/* A copy of `q`, which must be canonical, in the arena. */
mpq_srcptr al_exact_copy(struct al_arena *arena, mpq_srcptr q);
void al_integer_copy(struct al_arena *arena, mpz_ptr out, mpz_srcptr z);
mpq_srcptr al_exact_from_int(struct al_arena *arena, int64_t value);

/* q * numerator / denominator; denominator > 0. */
mpq_srcptr al_exact_scaled(struct al_arena *arena, mpq_srcptr q, int64_t numerator,
	int64_t denominator);

/* ---- decimals ---- */

/* Reads a decimal as papers print it: an optional sign (- or the minus sign U+2212), digits with
 * optional thousands commas, an optional fraction: "-0.81", "5,370,112", "18.87". `*digits` is the
 * number of decimals. An exponent, spaces or anything after the number are refused (false). */
bool al_exact_parse(const char *text, mpq_t out, int *digits) AL_MUST_CHECK;

/* Rounds to `digits` decimals, halves away from zero: 98.95 -> 99.0, -0.005 -> -0.01. */
void al_exact_round(mpq_t out, mpq_srcptr q, int digits);

/* Cuts off everything after `digits` decimals: 98.99 -> 98.9. */
void al_exact_truncate(mpq_t out, mpq_srcptr q, int digits);

/* One unit of the last of `digits` decimals, over `parts`: half of 0.01 is 0.005. */
void al_exact_unit(mpq_t out, int digits, unsigned long parts);

/* `q` with exactly `digits` decimals, rounded as above: "28.31". A value that rounds to zero has no
 * minus sign. */
char *al_exact_decimal(struct al_arena *arena, mpq_srcptr q, int digits);

/* An integer or a number of at most 6 decimals exactly ("28311552", "656.25"); anything else with
 * 15 significant digits, without trailing zeros ("98.1684981684982"). No exponent. */
char *al_exact_text(struct al_arena *arena, mpq_srcptr q);

bool al_exact_is_integer(mpq_srcptr q);

/* Thousands commas for a decimal text: "28311552.5" -> "28,311,552.5". */
char *al_exact_grouped(struct al_arena *arena, const char *decimal);
