/* Random numbers: xoshiro256++ (Blackman & Vigna 2019, arXiv:1805.01407) as a GSL generator. */
#include "base/random.h"

#include "base/base.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

struct al_random {
	gsl_rng *rng;
};

struct xoshiro {
	uint64_t s[4];
};

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static uint64_t step(struct xoshiro *x)
{
	uint64_t *s = x->s;
	const uint64_t result = rotate(s[0] + s[3], 23) + s[0];
	const uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate(s[3], 45);
	return result;
}

/* One round of SplitMix64: a bijection that spreads close numbers far apart. */
static uint64_t mix(uint64_t *counter)
{
	uint64_t z = *counter += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* GSL's own way in: one number. */
static void set(void *state, unsigned long seed)
{
	struct xoshiro *x = state;
	uint64_t counter = seed;

	for (size_t i = 0; i < 4; i++)
		x->s[i] = mix(&counter);
}

static unsigned long get(void *state)
{
	return (unsigned long)(step(state) >> 32);
}

static double get_double(void *state)
{
	return (double)(step(state) >> 11) * 0x1p-53;
}

static const gsl_rng_type xoshiro_type = {
	.name = "xoshiro256++",
	.max = 0xffffffffUL,
	.min = 0,
	.size = sizeof(struct xoshiro),
	.set = set,
	.get = get,
	.get_double = get_double,
};

struct al_random *al_random_create(uint64_t seed, uint64_t module, uint64_t head, uint64_t draw)
{
	const uint64_t names[] = {seed, module, head, draw};
	struct al_random *random = al_alloc(1, sizeof(*random));

	random->rng = gsl_rng_alloc(&xoshiro_type);

	struct xoshiro *x = gsl_rng_state(random->rng);
	uint64_t chain = 0;
	for (size_t i = 0; i < 4; i++) {
		chain ^= names[i];
		chain = mix(&chain);
	}
	for (size_t i = 0; i < 4; i++)
		x->s[i] = mix(&chain);
	return random;
}

void al_random_destroy(struct al_random *random)
{
	if (!random)
		return;
	gsl_rng_free(random->rng);
	free(random);
}

double al_random_uniform(struct al_random *random)
{
	return gsl_rng_uniform(random->rng);
}

void al_random_gaussian(struct al_random *random, double *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = gsl_ran_gaussian_ziggurat(random->rng, 1);
}

void al_random_gaussian_f(struct al_random *random, float *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (float)gsl_ran_gaussian_ziggurat(random->rng, 1);
}
