/* Encoding of GGUF's formats of 32 numbers, as ggml-quants.c (ggml) rounds without an importance
 * matrix: in single precision, in the same order of operations, so that bytes are the same. */
#include "base/blocks.h"

#include "base/base.h"
#include "base/half.h"

enum { N = 32 };

/* A block's numbers are scale * (level - zero) or scale * level + least. */
struct levels {
	float scale, least;
	int of[N];
};

static void put_half(unsigned char *bytes, float value)
{
	const uint16_t stored = al_f16_of((double)value);

	memcpy(bytes, &stored, sizeof(stored));
}

static float inverse(float scale)
{
	return scale != 0 ? 1 / scale : 0;
}

/* Cut to a whole number of 0 and more; 0 for NaN. */
static int below(float level, int n_levels)
{
	return !(level > 0) ? 0 : level < (float)n_levels ? (int)level : n_levels - 1;
}

/* The number that is farthest from 0 has the lowest level. */
static void find_around(const float *numbers, int zero, struct levels *out)
{
	float farthest = 0;

	for (int i = 0; i < N; i++)
		if (fabsf(numbers[i]) > fabsf(farthest))
			farthest = numbers[i];
	out->scale = farthest / (float)-zero;
	const float per_number = inverse(out->scale);
	for (int i = 0; i < N; i++)
		out->of[i] = below(numbers[i] * per_number + ((float)zero + 0.5F), 2 * zero);
}

/* From the least to the largest number. */
static void find_between(const float *numbers, int n_levels, struct levels *out)
{
	float most = numbers[0];

	out->least = numbers[0];
	for (int i = 1; i < N; i++) {
		most = fmaxf(most, numbers[i]);
		out->least = fminf(out->least, numbers[i]);
	}
	out->scale = (most - out->least) / (float)(n_levels - 1);
	const float per_number = inverse(out->scale);
	for (int i = 0; i < N; i++)
		out->of[i] = below((numbers[i] - out->least) * per_number + 0.5F, n_levels);
}

/* Four bits of each number, the fifth ones before them where there are some. */
static void put_levels(unsigned char *bytes, const struct levels *levels, bool has_fifth)
{
	uint32_t fifth = 0;

	for (int i = 0; i < N; i++)
		fifth |= (uint32_t)(levels->of[i] >> 4 & 1) << i;
	if (has_fifth)
		memcpy(bytes, &fifth, sizeof(fifth));
	bytes += has_fifth ? sizeof(fifth) : 0;
	for (int i = 0; i < N / 2; i++)
		bytes[i] = (unsigned char)((levels->of[i] & 15)
			| (levels->of[N / 2 + i] & 15) << 4);
}

static void put_around(const float *numbers, bool has_fifth, unsigned char *bytes)
{
	struct levels levels;

	find_around(numbers, has_fifth ? 16 : 8, &levels);
	put_half(bytes, levels.scale);
	put_levels(bytes + 2, &levels, has_fifth);
}

static void put_between(const float *numbers, bool has_fifth, unsigned char *bytes)
{
	struct levels levels;

	find_between(numbers, has_fifth ? 32 : 16, &levels);
	put_half(bytes, levels.scale);
	put_half(bytes + 2, levels.least);
	put_levels(bytes + 4, &levels, has_fifth);
}

static void put_q4_0(const float *numbers, unsigned char *bytes)
{
	put_around(numbers, false, bytes);
}

static void put_q4_1(const float *numbers, unsigned char *bytes)
{
	put_between(numbers, false, bytes);
}

static void put_q5_0(const float *numbers, unsigned char *bytes)
{
	put_around(numbers, true, bytes);
}

static void put_q5_1(const float *numbers, unsigned char *bytes)
{
	put_between(numbers, true, bytes);
}

static void put_q8_0(const float *numbers, unsigned char *bytes)
{
	float farthest = 0;

	for (int i = 0; i < N; i++)
		farthest = fmaxf(farthest, fabsf(numbers[i]));
	const float scale = farthest / 127, per_number = inverse(scale);
	put_half(bytes, scale);
	for (int i = 0; i < N; i++)
		bytes[2 + i] = (unsigned char)(int8_t)fminf(fmaxf(roundf(numbers[i] * per_number),
								    -127),
			127);
}

#define DEFINE_WRITTEN(name, bytes_of_block) \
	void al_##name##_from_double(const double *values, size_t n, unsigned char *bytes) \
	{ \
		float numbers[N]; \
		for (size_t block = 0; block < n / N; block++) { \
			for (size_t i = 0; i < N; i++) \
				numbers[i] = (float)values[block * N + i]; \
			put_##name(numbers, bytes + block * (bytes_of_block)); \
		} \
	}
AL_WRITTEN_BLOCK_FORMATS(DEFINE_WRITTEN)
