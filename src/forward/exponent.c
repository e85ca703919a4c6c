/* Exponentials of a whole column, and its largest number. */
#include "forward/exponent.h"

enum { EXP_LANES = 4, LARGEST_LANES = 32 };

AL_LOOP double exp_all(float *x, size_t n, float most, double *weighed)
{
	enum { BLOCK = 64 };
	double sums[EXP_LANES] = {0}, weights[EXP_LANES] = {0};
	float scores[BLOCK];

	for (size_t first = 0; first < n; first += BLOCK) {
		const size_t m = n - first < BLOCK ? n - first : BLOCK;
		for (size_t i = 0; i < m; i++)
			scores[i] = x[first + i] - most;
		for (size_t i = 0; i < m; i++)
			x[first + i] = al_exp_below_zero(scores[i]);
		for (size_t i = 0; i < m; i++) {
			sums[i % EXP_LANES] += (double)x[first + i];
			weights[i % EXP_LANES] += (double)(scores[i] * x[first + i]);
		}
	}
	*weighed = weights[0] + weights[1] + (weights[2] + weights[3]);
	return sums[0] + sums[1] + (sums[2] + sums[3]);
}

AL_WIDE static double exp_all_wide(float *x, size_t n, float most, double *weighed)
{
	return exp_all(x, n, most, weighed);
}

double al_exp_all(float *x, size_t n, float most, double *weighed)
{
	return al_is_wide() ? exp_all_wide(x, n, most, weighed) : exp_all(x, n, most, weighed);
}

/* Several at once: one would wait for each comparison to end. */
AL_LOOP float largest(const float *x, size_t n)
{
	float most[LARGEST_LANES], all = x[0];
	size_t i = 0;

	for (size_t k = 0; k < LARGEST_LANES; k++)
		most[k] = x[0];
	for (; i + LARGEST_LANES <= n; i += LARGEST_LANES)
		for (size_t k = 0; k < LARGEST_LANES; k++)
			most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
	for (; i < n; i++)
		all = x[i] > all ? x[i] : all;
	for (size_t k = 0; k < LARGEST_LANES; k++)
		all = most[k] > all ? most[k] : all;
	return all;
}

AL_WIDE static float largest_wide(const float *x, size_t n)
{
	return largest(x, n);
}

float al_largest(const float *x, size_t n)
{
	return al_is_wide() ? largest_wide(x, n) : largest(x, n);
}
