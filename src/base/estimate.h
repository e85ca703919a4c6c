/* Means of a sample, with their standard errors. What was drawn at random is a sequence, not a
 * token: tokens of one sequence share its subject and style. */
#pragma once

#include "base/base.h"

/* What one sampling unit adds to a mean: a sum, and of how many numbers. */
struct al_unit {
	double sum, n;
};

struct al_estimate {
	double mean;
	double error; /* standard error; NAN: of fewer than two units there is none */
	int64_t n; /* units that count: a sequence in which nothing is predicted doesn't */
};

/* The ratio of both sums over all units, with its jackknife error (Quenouille 1956, Tukey 1958): of
 * equal n it is that of a plain mean. */
struct al_estimate al_estimate_mean(const struct al_unit *units, size_t n);

/* Of `after` less `before`, which are sums over the same numbers, unit by unit. */
struct al_estimate al_estimate_change(const struct al_unit *before, const struct al_unit *after,
	size_t n);

/* Half the width of the interval that covers the mean at 95 % (two-sided, Student's t with n - 1
 * degrees of freedom); of `n_comparisons` intervals all of them together, after Bonferroni. NAN
 * without an error. */
double al_estimate_margin(struct al_estimate estimate, size_t n_comparisons);

/* Does that interval exclude zero? No where there is no error. */
bool al_estimate_is_apart(struct al_estimate difference, size_t n_comparisons);

/* Which of m samples of the same units has the least mean (`sign` -1: the largest), and which can't
 * be told from it: those whose change from it isn't apart from zero among m - 1 comparisons, itself
 * included. Whichever is so in truth is among them at 95 %, although the one in the sample was
 * chosen by its mean. All are where there is no error. */
size_t al_estimate_extreme(const struct al_unit *const *samples, size_t m, size_t n, int sign,
	bool *is_tied);
