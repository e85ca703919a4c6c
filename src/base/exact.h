/* Exact numbers: rationals (GMP's mpq) that an arena owns, and decimals as papers print them.
 *
 * An `mpq_srcptr` that comes from an arena is immutable, canonical (lowest terms, positive
 * denominator) and may be used wherever GMP takes a source operand. */
#ifndef ATTNLEDGER_BASE_EXACT_H
#define ATTNLEDGER_BASE_EXACT_H

#include <gmp.h>
#include <stdint.h>

#include "base/arena.h"

/* A copy of `q`, which must be canonical, in the arena. */
mpq_srcptr al_exact_copy(struct al_arena *arena, mpq_srcptr q);
mpq_srcptr al_exact_from_int(struct al_arena *arena, int64_t value);

/* Reads a decimal as papers print it: an optional sign (- or the minus sign U+2212), digits with
 * optional thousands commas, an optional fraction: "-0.81", "5,370,112", "18.87". `*digits` is the
 * number of decimals. An exponent, spaces or anything behind the number are refused (false). */
bool al_exact_parse(const char *text, mpq_t out, int *digits) AL_MUST_CHECK;

/* Rounds to `digits` decimals, halves away from zero: 98.95 -> 99.0, -0.005 -> -0.01. */
void al_exact_round(mpq_t out, mpq_srcptr q, int digits);

/* `q` with exactly `digits` decimals, rounded as above: "28.31". A value that rounds to zero has no
 * minus sign. */
char *al_exact_decimal(struct al_arena *arena, mpq_srcptr q, int digits);

/* An integer exactly ("28311552"); anything else with 15 significant digits, without trailing
 * zeros ("98.1684981684982"). No exponent. */
char *al_exact_text(struct al_arena *arena, mpq_srcptr q);

bool al_exact_is_integer(mpq_srcptr q);

/* Thousands commas for a decimal text: "28311552.5" -> "28,311,552.5". */
char *al_exact_grouped(struct al_arena *arena, const char *decimal);

#endif
