/* Means of a sample, with their standard errors. */
#include "base/estimate.h"

#include <gsl/gsl_cdf.h>

/* What both intervals and tests leave to chance. */
static const double chance = .05;

static struct al_unit total(const struct al_unit *units, size_t n)
{
	struct al_unit sum = {0};

	for (size_t i = 0; i < n; i++) {
		sum.sum += units[i].sum;
		sum.n += units[i].n;
	}
	return sum;
}

/* Without unit i the ratio r of the sums changes by (r n_i - sum_i) / (n - n_i). */
struct al_estimate al_estimate_mean(const struct al_unit *units, size_t n)
{
	const struct al_unit all = total(units, n);
	struct al_estimate e = {.mean = all.sum / all.n};
	double first = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(units[i].n > 0))
			continue;
		const double change = (e.mean * units[i].n - units[i].sum) / (all.n - units[i].n);
		first += change;
		squares += change * change;
		e.n++;
	}
	const double m = (double)e.n;
	e.error = e.n < 2 ? (double)NAN : sqrt(fmax(0, squares - first * first / m) * (m - 1) / m);
	return e;
}

struct al_estimate al_estimate_change(const struct al_unit *before, const struct al_unit *after,
	size_t n)
{
	AL_FREED struct al_unit *units = al_alloc(n, sizeof(*units));

	for (size_t i = 0; i < n; i++)
		units[i] = (struct al_unit){after[i].sum - before[i].sum, before[i].n};
	return al_estimate_mean(units, n);
}

double al_estimate_margin(struct al_estimate e, size_t n_comparisons)
{
	if (isnan(e.error))
		return e.error;
	return e.error * gsl_cdf_tdist_Qinv(chance / 2 / (double)n_comparisons, (double)(e.n - 1));
}

bool al_estimate_is_apart(struct al_estimate difference, size_t n_comparisons)
{
	return fabs(difference.mean) > al_estimate_margin(difference, n_comparisons);
}

size_t al_estimate_extreme(const struct al_unit *const *samples, size_t m, size_t n, int sign,
	bool *is_tied)
{
	size_t extreme = 0;

	for (size_t i = 1; i < m; i++)
		if (sign * al_estimate_change(samples[extreme], samples[i], n).mean < 0)
			extreme = i;
	for (size_t i = 0; i < m; i++)
		is_tied[i] = i == extreme
			|| !al_estimate_is_apart(al_estimate_change(samples[extreme], samples[i],
							 n),
				m - 1);
	return extreme;
}
