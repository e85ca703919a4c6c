/* Block formats of GGUF, laid out as in ggml-common.h, decoded as in ggml-quants.c (ggml): in
 * single precision, in the same order of operations, so that numbers are those that its programs
 * compute with. */
#include "base/blocks.h"

#include "base/base.h"
#include "base/format.h"
#include "base/half.h"

static float half_at(const unsigned char *bytes)
{
	uint16_t stored;

	memcpy(&stored, bytes, sizeof(stored));
	return al_f16_value(stored);
}

/* ---- 32 numbers, one scale: the lower halves of the bytes are numbers 0 to 15, the upper 16 to
 * 31 ---- */

static inline void q4_0_block(const unsigned char *b, float *out)
{
	const float scale = half_at(b);

	for (int i = 0; i < 16; i++) {
		out[i] = (float)((b[2 + i] & 15) - 8) * scale;
		out[16 + i] = (float)((b[2 + i] >> 4) - 8) * scale;
	}
}

static inline void q4_1_block(const unsigned char *b, float *out)
{
	const float scale = half_at(b), least = half_at(b + 2);

	for (int i = 0; i < 16; i++) {
		out[i] = (float)(b[4 + i] & 15) * scale + least;
		out[16 + i] = (float)(b[4 + i] >> 4) * scale + least;
	}
}

/* The fifth bits of all 32 numbers. */
static inline uint32_t fifth_bits(const unsigned char *bytes)
{
	uint32_t bits;

	memcpy(&bits, bytes, sizeof(bits));
	return bits;
}

static inline void q5_0_block(const unsigned char *b, float *out)
{
	const float scale = half_at(b);
	const uint32_t fifth = fifth_bits(b + 2);

	for (int i = 0; i < 16; i++) {
		const int low = (b[6 + i] & 15) | (int)(fifth >> i & 1) << 4;
		const int high = (b[6 + i] >> 4) | (int)(fifth >> (16 + i) & 1) << 4;
		out[i] = (float)(low - 16) * scale;
		out[16 + i] = (float)(high - 16) * scale;
	}
}

static inline void q5_1_block(const unsigned char *b, float *out)
{
	const float scale = half_at(b), least = half_at(b + 2);
	const uint32_t fifth = fifth_bits(b + 4);

	for (int i = 0; i < 16; i++) {
		const int low = (b[8 + i] & 15) | (int)(fifth >> i & 1) << 4;
		const int high = (b[8 + i] >> 4) | (int)(fifth >> (16 + i) & 1) << 4;
		out[i] = (float)low * scale + least;
		out[16 + i] = (float)high * scale + least;
	}
}

static inline void q8_0_block(const unsigned char *b, float *out)
{
	const float scale = half_at(b);

	for (int i = 0; i < 32; i++)
		out[i] = (float)(int8_t)b[2 + i] * scale;
}

/* ---- numbers out of a list of 16 ---- */

static const int8_t levels_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53,
	69, 89, 113};

/* Twice the values of E2M1, so that they are whole. */
static const int8_t levels_fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static inline void by_levels(const unsigned char *halves, const int8_t levels[16], float scale,
	float *out)
{
	for (int i = 0; i < 16; i++) {
		out[i] = scale * (float)levels[halves[i] & 15];
		out[16 + i] = scale * (float)levels[halves[i] >> 4];
	}
}

static inline void iq4_nl_block(const unsigned char *b, float *out)
{
	by_levels(b + 2, levels_iq4, half_at(b), out);
}

/* Eight groups of 32; the scales have four bits in one place and two in another. */
static inline void iq4_xs_block(const unsigned char *b, float *out)
{
	const float scale = half_at(b);

	for (int i = 0; i < 8; i++) {
		const int low = b[4 + i / 2] >> 4 * (i % 2) & 15;
		const int high = b[2 + i / 4] >> 2 * (i % 4) & 3;
		by_levels(b + 8 + 16 * i, levels_iq4, scale * (float)((low | high << 4) - 32),
			out + 32 * i);
	}
}

/* The scale is a power of two alone (E8M0), here halved. */
static inline void mxfp4_block(const unsigned char *b, float *out)
{
	const uint32_t bits = b[0] < 2 ? UINT32_C(0x00200000) << b[0] : (uint32_t)(b[0] - 1) << 23;

	by_levels(b + 1, levels_fp4, al_float_of_bits(bits), out);
}

/* ---- 256 numbers in groups, whose scales are numbers of few bits times the block's ---- */

/* The numbers of 128 are in pieces of two bits in 32 bytes: numbers 0 to 31 the lowest pieces. */
static inline void q2_k_block(const unsigned char *b, float *out)
{
	const unsigned char *scales = b, *numbers = b + 16;
	const float scale = half_at(b + 80), least = half_at(b + 82);

	for (int group = 0; group < 16; group++) {
		const unsigned char *from = numbers + 32 * (group / 8) + 16 * (group % 2);
		const int shift = group % 8 / 2 * 2;
		const float step = scale * (float)(scales[group] & 15);
		const float offset = least * (float)(scales[group] >> 4);
		for (int i = 0; i < 16; i++)
			out[16 * group + i] = step * (float)(from[i] >> shift & 3) - offset;
	}
}

/* As before; a third bit is apart, and its absence takes 4 off. */
static inline void q3_k_block(const unsigned char *b, float *out)
{
	const unsigned char *third = b, *numbers = b + 32, *scales = b + 96;
	const float scale = half_at(b + 108);

	for (int group = 0; group < 16; group++) {
		const int low = scales[group % 8] >> 4 * (group / 8) & 15;
		const int high = scales[8 + group % 4] >> 2 * (group / 4) & 3;
		const float step = scale * (float)((low | high << 4) - 32);
		const int half = 16 * (group % 2), shift = group % 8 / 2 * 2;
		const unsigned char *from = numbers + 32 * (group / 8) + half;
		for (int i = 0; i < 16; i++) {
			const int is_high = third[half + i] >> group / 2 & 1;
			const int number = (from[i] >> shift & 3) - (is_high ? 0 : 4);
			out[16 * group + i] = step * (float)number;
		}
	}
}

/* Scales and minimums of 8 groups, 6 bits each, in 12 bytes. */
static inline void group_of_32(const unsigned char *packed, int group, int *scale, int *least)
{
	const unsigned char *q = packed + group % 4;

	if (group < 4) {
		*scale = q[0] & 63;
		*least = q[4] & 63;
	} else {
		*scale = (q[8] & 15) | q[0] >> 6 << 4;
		*least = q[8] >> 4 | q[4] >> 6 << 4;
	}
}

static inline void q4_k_block(const unsigned char *b, float *out)
{
	const float scale = half_at(b), least = half_at(b + 2);

	for (int group = 0; group < 8; group++) {
		const unsigned char *from = b + 16 + 32 * (group / 2);
		const int shift = 4 * (group % 2);
		int s, m;
		group_of_32(b + 4, group, &s, &m);
		const float step = scale * (float)s, offset = least * (float)m;
		for (int i = 0; i < 32; i++)
			out[32 * group + i] = step * (float)(from[i] >> shift & 15) - offset;
	}
}

static inline void q5_k_block(const unsigned char *b, float *out)
{
	const unsigned char *fifth = b + 16;
	const float scale = half_at(b), least = half_at(b + 2);

	for (int group = 0; group < 8; group++) {
		const unsigned char *from = b + 48 + 32 * (group / 2);
		const int shift = 4 * (group % 2);
		int s, m;
		group_of_32(b + 4, group, &s, &m);
		const float step = scale * (float)s, offset = least * (float)m;
		for (int i = 0; i < 32; i++) {
			const int number = (from[i] >> shift & 15) | (fifth[i] >> group & 1) << 4;
			out[32 * group + i] = step * (float)number - offset;
		}
	}
}

/* Of 128 numbers the low four bits are in 64 bytes, the high two in 32. */
static inline void q6_k_block(const unsigned char *b, float *out)
{
	const float scale = half_at(b + 208);

	for (int quarter = 0; quarter < 8; quarter++) {
		const int half = quarter / 4, part = quarter % 4;
		const unsigned char *low = b + 64 * half + 32 * (part % 2);
		const unsigned char *high = b + 128 + 32 * half;
		const int8_t scales[2] = {(int8_t)b[192 + 2 * quarter],
			(int8_t)b[193 + 2 * quarter]};
		for (int i = 0; i < 32; i++) {
			const int number = (low[i] >> 4 * (part / 2) & 15)
				| (high[i] >> 2 * part & 3) << 4;
			out[32 * quarter + i] = scale * (float)scales[i / 16]
				* (float)(number - 32);
		}
	}
}

/* ---- eight numbers at a time: one of 256 patterns of sizes, and their signs ---- */

/* The patterns of IQ2_XXS: which of three sizes each of the eight numbers has, two bits each, the
 * first number the lowest. Points of the lattice E8 that were chosen for being frequent: no rule
 * gives them. */
static const uint16_t patterns_iq2[256] = {
#include "base/iq2_patterns.inc"
};

static const float sizes_iq2[4] = {8, 25, 43, 0};

/* For 32 numbers: four patterns, one byte each; then 28 bits of signs and four of the scale. Among
 * eight numbers an even number is negative, so seven bits determine all signs. */
static inline void iq2_xxs_block(const unsigned char *b, float *out)
{
	const float scale = half_at(b);

	for (int group = 0; group < 8; group++) {
		const unsigned char *from = b + 2 + 8 * group;
		uint32_t signs;
		memcpy(&signs, from + 4, sizeof(signs));
		const float step = scale * (0.5F + (float)(signs >> 28)) * 0.25F;
		for (int eight = 0; eight < 4; eight++) {
			const uint32_t pattern = patterns_iq2[from[eight]];
			const uint32_t seven = signs >> 7 * eight & 127;
			const uint32_t minus = seven | (uint32_t)__builtin_parity(seven) << 7;
			for (int i = 0; i < 8; i++) {
				const float size = step * sizes_iq2[pattern >> 2 * i & 3];
				out[32 * group + 8 * eight + i] = minus >> i & 1 ? -size : size;
			}
		}
	}
}

/* ---- all blocks ---- */

#define DEFINE_BLOCK_FORMAT(name, elements, bytes_of_block) \
	void al_##name##_to_float(const unsigned char *bytes, size_t n, float *out) \
	{ \
		for (size_t i = 0; i < n / (elements); i++) \
			name##_block(bytes + i * (bytes_of_block), out + i * (elements)); \
	} \
	void al_##name##_to_double(const unsigned char *bytes, size_t n, double *out) \
	{ \
		float block[AL_MOST_BLOCK_ELEMENTS]; \
		for (size_t i = 0; i < n / (elements); i++) { \
			name##_block(bytes + i * (bytes_of_block), block); \
			for (size_t j = 0; j < (elements); j++) \
				out[i * (elements) + j] = (double)block[j]; \
		} \
	}
AL_BLOCK_FORMATS(DEFINE_BLOCK_FORMAT)
