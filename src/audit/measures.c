/* Measures of a spectrum. Squares are of values relative to the largest: nothing overflows. */
#include "audit/measures.h"

const double al_shares[AL_N_SHARES] = {.5, .9, .95, .99};

/* Binary digits of a number of components behind the first. */
enum { PLACES = 10 };

static double square_at(const double *values, size_t k)
{
	const double x = values[k] / values[0];

	return x * x;
}

static double sum_squares(const double *values, size_t n)
{
	double sum = 0;

	for (size_t k = n; k-- > 0;) /* smallest first */
		sum += square_at(values, k);
	return sum;
}

static bool is_zero(const double *values, size_t n)
{
	return n == 0 || values[0] == 0;
}

void al_captured(const double *values, size_t n, double *share, double *cumulative)
{
	const bool none = is_zero(values, n);
	const double total = sum_squares(values, n);
	double sum = 0;

	for (size_t k = 0; k < n; k++) {
		const double part = none ? 0 : square_at(values, k) / total;
		sum += part;
		if (share)
			share[k] = part;
		if (cumulative)
			cumulative[k] = fmin(sum, 1);
	}
}

size_t al_components(const double *values, size_t n, double share)
{
	if (is_zero(values, n))
		return 0;

	/* nine of ten equal values are 90 %, whatever the last bit of the sum */
	const double enough = (share - 1e-12) * sum_squares(values, n);
	double sum = 0;
	size_t k = 0;
	while (k < n && sum < enough)
		sum += square_at(values, k++);
	return k;
}

double al_components_between(const double *values, size_t n, double share)
{
	const size_t k = al_components(values, n, share);
	double sum = 0;

	if (k == 0)
		return 0;
	const double enough = share * sum_squares(values, n);
	for (size_t i = 0; i + 1 < k; i++)
		sum += square_at(values, i);
	const double exact = (double)(k - 1) + fmin((enough - sum) / square_at(values, k - 1), 1);
	const double unit = ldexp(1, ilogb(exact) - PLACES);
	return rint(exact / unit) * unit;
}

bool al_components_stay(const double *values, size_t n, double share, double margin)
{
	return al_components(values, n, share - margin) == al_components(values, n, share + margin);
}

static double entropy(const double *values, size_t n, double total)
{
	double sum = 0;

	for (size_t k = n; k-- > 0;) {
		const double p = square_at(values, k) / total;
		if (p > 0)
			sum -= p * log(p);
	}
	return sum;
}

double al_rank_tolerance(size_t dimension, double unit)
{
	return fmax((double)dimension * 0x1p-52, 4 * unit);
}

bool al_rank_is_told(double unit)
{
	return al_rank_tolerance(1, unit) < 1;
}

double al_direction_tolerance(size_t dimension, double unit)
{
	return al_rank_tolerance(dimension, al_rank_is_told(unit) ? unit : 0);
}

struct al_measures al_measure(const double *values, size_t n, size_t dimension, double unit)
{
	if (is_zero(values, n))
		return (struct al_measures){0};

	const double total = sum_squares(values, n);
	struct al_measures m = {
		.tolerance = values[0] * al_rank_tolerance(dimension, unit),
		.stable_rank = total,
		.effective_rank = exp(entropy(values, n, total)),
		.n50 = (int64_t)al_components(values, n, al_shares[0]),
		.n90 = (int64_t)al_components(values, n, al_shares[1]),
		.n95 = (int64_t)al_components(values, n, al_shares[2]),
		.n99 = (int64_t)al_components(values, n, al_shares[3]),
		.norm = values[0] * sqrt(total),
	};
	while (m.rank < (int64_t)n && values[m.rank] > m.tolerance)
		m.rank++;
	return m;
}
