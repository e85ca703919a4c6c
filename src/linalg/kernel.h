/* OpenBLAS's kernels: which one runs, which one this processor should have, and whether the one
 * that runs computes right.
 *
 * OpenBLAS knows processors by model number. One that its list lacks gets a kernel that is older
 * than the processor, silently: at a quarter of the speed. The processor's features decide
 * better. */
#pragma once

#include "base/base.h"

/* What a kernel needs of a processor, each level with those before. */
enum al_cpu_level {
	AL_CPU_SSE3,
	AL_CPU_SSE42,
	AL_CPU_AVX,
	AL_CPU_AVX2, /* with FMA */
	AL_CPU_AVX512, /* f, dq, bw, vl, cd */
};

/* The level of this processor; AL_CPU_SSE3 where it is no x86. */
enum al_cpu_level al_cpu_level(void);

/* The kernel that OpenBLAS runs: "Zen", "SkylakeX"; and its version: "0.3.21". */
const char *al_blas_kernel(void);
const char *al_blas_version(char out[16]);

/* Can the kernel be chosen when OpenBLAS is loaded (OPENBLAS_CORETYPE)? */
bool al_blas_has_kernels(void);

/* The kernel that a processor of this level should have in place of `own`, which this version chose
 * by itself; NULL: `own` is as good. A kernel that isn't known here is newer than this list. */
const char *al_kernel_better(const char *own, const char *version, enum al_cpu_level level);

/* The next kernel to try where `failed` computes wrong; NULL: none is left. */
const char *al_kernel_below(const char *failed, const char *version, enum al_cpu_level level);

/* To be called before anything computes: takes the memory that OpenBLAS wants for each thread, and
 * makes the threads fewer where it isn't there for all. AL_ESYSTEM: not for one. */
bool al_blas_reserve(struct al_error *err) AL_MUST_CHECK;

/* Products, Cholesky factors and eigenvectors of small matrices, held against sums in plain C:
 * takes a few milliseconds. AL_ESYSTEM where one is wrong. */
bool al_kernel_check(struct al_error *err) AL_MUST_CHECK;
