/* Loops that are compiled twice: for any processor, and for those with AVX2. Both compute the same
 * bits, since no multiplication is fused with an addition and sums keep their order. */
#ifndef ATTNLEDGER_FORWARD_WIDE_H
#define ATTNLEDGER_FORWARD_WIDE_H

#include "linalg/kernel.h"

/* The loop itself, and the function that has it in wide vectors. */
#define AL_LOOP static inline __attribute__((always_inline))
#if defined(__x86_64__)
#define AL_WIDE __attribute__((target("avx2")))
#else
#define AL_WIDE
#endif

static inline bool al_is_wide(void)
{
	return al_cpu_level() >= AL_CPU_AVX2;
}

#endif
