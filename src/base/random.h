/* Random numbers: streams that depend on nothing but four numbers.
 *
 * A stream is named by (seed, module, head, draw), so that any of them can be drawn again, alone
 * and in any order, on any thread. GSL's distributions over xoshiro256++, whose state takes 256
 * bits of the four numbers where GSL's own generators take 32. Standard C arithmetic: the same
 * numbers on every machine. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct al_random;

struct al_random *al_random_create(uint64_t seed, uint64_t module, uint64_t head, uint64_t draw);
void al_random_destroy(struct al_random *random);

/* Uniform in [0, 1). */
double al_random_uniform(struct al_random *random);

/* Independent standard normal numbers. Both take the same steps: the second is the first,
 * rounded. */
void al_random_gaussian(struct al_random *random, double *out, size_t n);
void al_random_gaussian_f(struct al_random *random, float *out, size_t n);
