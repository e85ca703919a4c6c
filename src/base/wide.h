/* Loops that are compiled again for wider registers; the system chooses when the program is loaded.
 * All compute the same bits where no multiplication is fused with an addition
 * (-ffp-contract=off). */
#pragma once

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define AL_IS_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AL_IS_SANITIZED
#endif

/* AVX2; AVX2 and AVX-512; those that fuse products with sums, for -ffp-contract=fast. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(AL_IS_SANITIZED)
#define AL_WIDE __attribute__((target_clones("avx2", "default")))
#define AL_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#define AL_WIDEST_FUSED __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define AL_WIDE
#define AL_WIDEST
#define AL_WIDEST_FUSED
#endif

/* Calls in such a function are inlined. */
#define AL_LOOP static inline __attribute__((always_inline))
