/* exp of what isn't positive, in a form that compilers make vectors of: x = k log 2 + r, Taylor's
 * series of exp(r) to r^7 (|r| <= log(2)/2: the next term is below 6e-9), times 2^k put together
 * from bits. Within two units of the last place of float; below -87 it stays at exp(-87). */
#ifndef ATTNLEDGER_FORWARD_EXPONENT_H
#define ATTNLEDGER_FORWARD_EXPONENT_H

#include <stdint.h>
#include <string.h>

static inline float al_exp_below_zero(float x)
{
	const float shift = 12582912; /* 1.5 * 2^23: what is added to it is rounded to an integer */
	const float bounded = x < -87 ? -87 : x;
	const float shifted = bounded * 1.44269504f + shift, k = shifted - shift;
	const float r = bounded - k * 0.693359375f + k * 2.12194440e-4f; /* log 2 in two parts */
	uint32_t bits;
	float power;

	memcpy(&bits, &shifted, sizeof(bits));
	bits = (bits + 127) << 23;
	memcpy(&power, &bits, sizeof(power));
	const float high = 1.f / 24 + r * (1.f / 120 + r * (1.f / 720 + r * (1.f / 5040)));
	return power * (1 + r * (1 + r * (0.5f + r * (1.f / 6 + r * high))));
}

enum { AL_EXP_LANES = 4 };

/* x[i] becomes exp(x[i] - most); `most` is the largest or larger. The sum of them in double, in
 * lanes that don't depend on the machine; weighed: the sum of (x[i] - most) exp(x[i] - most). */
static inline double al_exp_all(float *x, size_t n, float most, double *weighed)
{
	enum { BLOCK = 64 };
	double sums[AL_EXP_LANES] = {0}, weights[AL_EXP_LANES] = {0};
	float scores[BLOCK];

	for (size_t first = 0; first < n; first += BLOCK) {
		const size_t m = n - first < BLOCK ? n - first : BLOCK;
		for (size_t i = 0; i < m; i++)
			scores[i] = x[first + i] - most;
		for (size_t i = 0; i < m; i++)
			x[first + i] = al_exp_below_zero(scores[i]);
		for (size_t i = 0; i < m; i++) {
			sums[i % AL_EXP_LANES] += (double)x[first + i];
			weights[i % AL_EXP_LANES] += (double)(scores[i] * x[first + i]);
		}
	}
	*weighed = weights[0] + weights[1] + (weights[2] + weights[3]);
	return sums[0] + sums[1] + (sums[2] + sums[3]);
}

#endif
