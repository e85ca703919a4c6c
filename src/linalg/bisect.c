/* Eigenvalues of a symmetric tridiagonal matrix by Sturm sequences and bisection, as many side by
 * side as hide the time that a multiplication takes (Givens 1954; Wilkinson, The Algebraic
 * Eigenvalue Problem, chapter 5).
 *
 * T is moved and scaled so that all eigenvalues are from 0 to 1. As many of them are below x as the
 * determinants of the leading parts of T - x I,
 *
 *	p[i] = (d[i] - x) p[i - 1] - e[i]^2 p[i - 2],
 *
 * change their sign. Their quotients, the pivots of T - x I, would take a division each, which
 * lasts longer than all the rest. What rounding does to p[i] could as well have been done to
 * d[i] - x and e[i]^2: the counts are those of a tridiagonal matrix that differs from T by at most
 * three roundings of 1 in each element.
 *
 * Determinants hardly grow, as those of any part of T - x I are at most 1, but they may leave the
 * range of numbers below. With e[i] of UNIT at least, half a rounding of 1, the larger of two that
 * follow each other keeps e[i]^2/2 of its magnitude from row to row; so where they are small, both
 * are multiplied by LARGE every SCALED rows. */
#include "linalg/bisect.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Bytes of the numbers that are side by side: four of the widest registers. */
enum { SIDE_BY_SIDE = 256 };

#define UNIT (DBL_EPSILON / 2)
#define DIGITS DBL_MANT_DIG
#define LARGE 0x1p900
#define SCALED 8
#define BITS uint64_t
#define SIGN_AT 63
#include "linalg/in_double.h"
#include "linalg/bisect.inc"
#undef UNIT
#undef DIGITS
#undef LARGE
#undef SCALED
#undef BITS
#undef SIGN_AT

#define UNIT (FLT_EPSILON / 2)
#define DIGITS FLT_MANT_DIG
#define LARGE 0x1p100F
#define SCALED 2
#define BITS uint32_t
#define SIGN_AT 31
#include "linalg/in_single.h"
#include "linalg/bisect.inc"
