/* Measures of a spectrum: ranks, components and the captured variance. */
#pragma once

#include "base/base.h"

/* The shares of the squares whose components are counted: 50, 90, 95 and 99 %. */
enum { AL_N_SHARES = 4 };
extern const double al_shares[AL_N_SHARES];

struct al_measures {
	double tolerance; /* singular values above it count: largest * max(dim*2^-52, 4 units) */
	int64_t rank; /* how many do */
	double stable_rank; /* sum of the squares / the largest square */
	double effective_rank; /* exp(entropy of the normalized squares) */
	int64_t n50, n90, n95, n99; /* components for that much of the squares */
	double norm; /* Frobenius */
};

/* Singular values above this part of the largest count for the numerical rank. */
double al_rank_tolerance(size_t dimension, double unit);

/* Do numbers stored with this unit roundoff determine a rank? In formats of two bits rounding may
 * make all of the largest singular value. */
bool al_rank_is_told(double unit);

/* The tolerance for the directions of a subspace: all stored ones count if no rank is given.
 */
double al_direction_tolerance(size_t dimension, double unit);

/* `values` [n], largest first, of a matrix whose longer side is `dimension`, made of numbers that
 * were stored with unit roundoff `unit`. All zeros have rank 0 and take 0 components. */
struct al_measures al_measure(const double *values, size_t n, size_t dimension, double unit);

/* How many components hold `share` (0 .. 1) of the squares, to rounding. */
size_t al_components(const double *values, size_t n, double share);

/* The same as a fraction, as if a component's squares came in evenly; rounded to 11 binary digits,
 * so that it doesn't depend on how the values were computed. */
double al_components_between(const double *values, size_t n, double share);

/* Would the number of al_components stay if all sums of squares moved by `margin` of the whole? */
bool al_components_stay(const double *values, size_t n, double share, double margin);

/* share[k], the part of the squares that component k holds, and its running sum; either may be
 * NULL. */
void al_captured(const double *values, size_t n, double *share, double *cumulative);
