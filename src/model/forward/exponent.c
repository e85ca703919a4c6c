/* Exponentials of a whole column, its largest number, and entropies. */
#include "model/forward/exponent.h"

enum { LANES = 16, LARGEST_LANES = 32, BLOCK = 64 };

/* ---- sums in lanes: one would wait for each addition to end ---- */

AL_LOOP double add_lanes(const double *lanes)
{
	double sum = 0;

	for (size_t i = 0; i < LANES; i++)
		sum += lanes[i];
	return sum;
}

/* ---- exponentials ---- */

/* Scores and their exponentials are at hand; weights may be NULL. */
AL_LOOP void add_block(const float *scores, const float *x, size_t n, double *sums, double *weights)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			sums[lane] += (double)x[i + lane];
	for (; i < n; i++)
		sums[i % LANES] += (double)x[i];
	for (i = 0; weights && i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			weights[lane] += (double)(scores[i + lane] * x[i + lane]);
	for (; weights && i < n; i++)
		weights[i % LANES] += (double)(scores[i] * x[i]);
}

AL_LOOP double exp_all(float *x, size_t n, float most, double *weighed)
{
	double sums[LANES] = {0}, weights[LANES] = {0};
	float scores[BLOCK];

	for (size_t first = 0; first < n; first += BLOCK) {
		const size_t m = n - first < BLOCK ? n - first : BLOCK;
		for (size_t i = 0; i < m; i++)
			scores[i] = x[first + i] - most;
		for (size_t i = 0; i < m; i++)
			x[first + i] = al_exp_below_zero(scores[i]);
		add_block(scores, x + first, m, sums, weighed ? weights : NULL);
	}
	if (weighed)
		*weighed = add_lanes(weights);
	return add_lanes(sums);
}

AL_WIDEST static double exp_plain(float *x, size_t n, float most)
{
	return exp_all(x, n, most, NULL);
}

AL_WIDEST static double exp_weighed(float *x, size_t n, float most, double *weighed)
{
	return exp_all(x, n, most, weighed);
}

double al_exp_all(float *x, size_t n, float most, double *weighed)
{
	return weighed ? exp_weighed(x, n, most, weighed) : exp_plain(x, n, most);
}

/* ---- the largest number ---- */

AL_WIDEST static float largest(const float *x, size_t n)
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

float al_largest(const float *x, size_t n)
{
	return largest(x, n);
}

AL_WIDEST static void scale(float *x, size_t n, float factor)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= factor;
}

void al_scale(float *x, size_t n, float factor)
{
	scale(x, n, factor);
}

/* ---- entropies ---- */

/* -x log x */
static double term(double x)
{
	return x > 0 ? -x * log(x) : 0;
}

double al_mixed_entropy(const float *p, const float *q, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += term(((double)p[i] + (double)q[i]) / 2);
	return sum;
}
