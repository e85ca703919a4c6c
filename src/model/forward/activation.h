/* Activations, and what a softmax is made of. */
#pragma once

#include "base/base.h"
#include "base/wide.h"

struct al_activation;

/* The activation of that name, or an error that lists those known. */
bool al_activation_find(const char *name, const struct al_activation **out,
	struct al_error *err) AL_MUST_CHECK;

/* Has it two numbers that each layer learns? */
bool al_activation_learns(const struct al_activation *activation);

/* log(1 + e^x) */
double al_softplus(double x);

/* up becomes activation(gate) * up, or activation(up) where gate is NULL; gate is destroyed.
 * `learned` [2]; NULL where it learns none. */
void al_activate(const struct al_activation *activation, const double *learned, float *gate,
	float *up, size_t n);

/* ---- a softmax ---- */

/* exp of what isn't positive, in a form that compilers make vectors of: x = k log 2 + r, Taylor's
 * series of exp(r) to r^7 (|r| <= log(2)/2: the next term is below 6e-9), times 2^k put together
 * from bits. Within two units of the last place of float; below -87 it stays at exp(-87). */
AL_LOOP float al_exp_below_zero(float x)
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

/* x[i] becomes exp(x[i] - most); `most` is the largest or larger. The sum of them in double, in
 * lanes that don't depend on the machine; weighed: the sum of (x[i] - most) exp(x[i] - most), NULL
 * if not needed. */
double al_exp_all(float *x, size_t n, float most, double *weighed);

/* x *= factor */
void al_scale(float *x, size_t n, float factor);

/* The sum of |i - at| weights[i], in double, in such lanes. */
double al_mean_distance(const float *weights, size_t n, double at);

/* The inner product of x and y, in double, in such lanes. */
double al_inner_f(const float *x, const float *y, size_t n);

/* The entropy in nats of (p + q)/2. */
double al_mixed_entropy(const float *p, const float *q, size_t n);

/* The largest of n > 0 numbers. */
float al_largest(const float *x, size_t n);
