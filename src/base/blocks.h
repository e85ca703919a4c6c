/* The block formats of GGUF: `n` elements, which fill whole blocks, at any alignment. */
#pragma once

#include <stddef.h>

/* The formats that are decoded: name, numbers in a block, bytes of a block. */
#define AL_BLOCK_FORMATS(X) \
	X(q4_0, 32, 18) \
	X(q4_1, 32, 20) \
	X(q5_0, 32, 22) \
	X(q5_1, 32, 24) \
	X(q8_0, 32, 34) \
	X(q2_k, 256, 84) \
	X(q3_k, 256, 110) \
	X(q4_k, 256, 144) \
	X(q5_k, 256, 176) \
	X(q6_k, 256, 210) \
	X(iq2_xxs, 256, 66) \
	X(iq4_nl, 32, 18) \
	X(iq4_xs, 256, 136) \
	X(mxfp4, 32, 17)

#define AL_DECLARE_BLOCK_FORMAT(name, elements, bytes_of_block) \
	void al_##name##_to_float(const unsigned char *bytes, size_t n, float *out); \
	void al_##name##_to_double(const unsigned char *bytes, size_t n, double *out);
AL_BLOCK_FORMATS(AL_DECLARE_BLOCK_FORMAT)

/* Those that are encoded too; `weights`: what the squared error of each number counts, at least 0,
 * or NULL. */
#define AL_WRITTEN_BLOCK_FORMATS(X) \
	X(q4_0, 32, 18) \
	X(q4_1, 32, 20) \
	X(q5_0, 32, 22) \
	X(q5_1, 32, 24) \
	X(q8_0, 32, 34) \
	X(q4_k, 256, 144) \
	X(q5_k, 256, 176) \
	X(q6_k, 256, 210)

#define AL_DECLARE_WRITTEN(name, elements, bytes_of_block) \
	void al_##name##_from_weighted(const double *values, const double *weights, size_t n, \
		unsigned char *bytes); \
	void al_##name##_from_double(const double *values, size_t n, unsigned char *bytes);
AL_WRITTEN_BLOCK_FORMATS(AL_DECLARE_WRITTEN)
