/* Encoding of GGUF's block formats. Without weights blocks of 32 numbers are rounded as
 * ggml-quants.c (ggml) does, in single precision and in the same order of operations, so that bytes
 * are the same. Blocks of 256 numbers, and with weights those of 32 too, get the scales that least
 * squares give over several roundings: ggml's search weighs large numbers more, and its squared
 * error is no smaller. */
#include "base/blocks.h"

#include "base/base.h"
#include "base/half.h"

static void put_half(unsigned char *bytes, float value)
{
	const uint16_t stored = al_f16_of((double)value);

	memcpy(bytes, &stored, sizeof(stored));
}

static float half_of(float value)
{
	return al_f16_value(al_f16_of((double)value));
}

static float inverse(float scale)
{
	return scale != 0 ? 1 / scale : 0;
}

/* The nearest whole number within bounds; the least for NaN. */
static int level_of(float level, int least, int most)
{
	return (int)rintf(al_least(al_most(level, (float)least), (float)most));
}

/* ---- least squares ---- */

/* Levels of the largest number that are tried: so many, so far apart, around the highest level. */
enum { N_STEPS = 11 };
static const float STEP = 0.25F;

/* Numbers, and what their squared errors count. */
struct weighed {
	const float *numbers, *weights; /* [n] */
	int n;
};

/* A number is scale * level - offset. */
struct line {
	float scale, offset;
};

/* The best line of the levels that rounding with `line` gives, and what is left of the squares,
 * but for those of the numbers. */
static double fit_line(const struct weighed *of, const struct line *line, int most, bool may_rise,
	struct line *out)
{
	const float per_number = inverse(line->scale);
	double all = 0, levels = 0, squares = 0, sum = 0, products = 0;

	for (int i = 0; i < of->n; i++) {
		const double weight = (double)of->weights[i], number = (double)of->numbers[i];
		const int level = level_of((of->numbers[i] + line->offset) * per_number, 0, most);
		all += weight;
		levels += weight * level;
		squares += weight * (level * level);
		sum += weight * number;
		products += weight * number * level;
	}
	const double divisor = all * squares - levels * levels;
	double scale = divisor > 0 ? (all * products - sum * levels) / divisor : 0;
	double offset = all > 0 ? (scale * levels - sum) / all : 0;
	if (offset < 0 && !may_rise) {
		offset = 0;
		scale = squares > 0 ? products / squares : 0;
	}
	scale = fmax(0, scale);
	*out = (struct line){(float)scale, (float)offset};
	return scale * scale * squares - 2 * scale * products + 2 * offset * sum
		- 2 * scale * offset * levels + all * offset * offset;
}

/* Of several roundings the one with the best line, and the line that this one rounds to: from
 * level 0 to `most`. Where it may not rise, level 0 is at 0 or below. */
static struct line find_line(const struct weighed *of, int most, bool may_rise)
{
	float least = may_rise ? of->numbers[0] : 0, largest = least;
	double best = INFINITY;
	struct line found = {0}, line;

	for (int i = 0; i < of->n; i++) {
		least = fminf(least, of->numbers[i]);
		largest = fmaxf(largest, of->numbers[i]);
	}
	for (int step = 0; step < 2 * N_STEPS; step++) {
		const struct line tried = {(largest - least)
				/ ((float)most + STEP * (float)(step / 2 - N_STEPS / 2)),
			-least};
		const double left = fit_line(of, step % 2 ? &line : &tried, most, may_rise, &line);
		if (left < best) {
			best = left;
			found = line;
		}
	}
	return found;
}

/* The scale alone, for levels from -zero to zero - 1. */
static float find_scale(const struct weighed *of, int zero)
{
	float farthest = 0, found = 0;
	double best = 0;

	for (int i = 0; i < of->n; i++)
		if (fabsf(of->numbers[i]) > fabsf(farthest))
			farthest = of->numbers[i];
	for (int step = 0; step < N_STEPS; step++) {
		const float per_number = (STEP * (float)(step - N_STEPS / 2) - (float)zero)
			* inverse(farthest);
		double products = 0, squares = 0;
		for (int i = 0; i < of->n; i++) {
			const double weight = (double)of->weights[i];
			const int level = level_of(of->numbers[i] * per_number, -zero, zero - 1);
			products += weight * (double)of->numbers[i] * level;
			squares += weight * (level * level);
		}
		if (squares > 0 && products * products > best * squares) {
			best = products * products / squares;
			found = (float)(products / squares);
		}
	}
	return found;
}

/* ---- 32 numbers ---- */

enum { N = 32 };

/* A block's numbers are scale * (level - zero) or scale * level + least. */
struct levels {
	float scale, least;
	int of[N];
};

/* Cut to a whole number of 0 and more; 0 for NaN. */
static int below(float level, int n_levels)
{
	return (int)al_least(al_most(level, 0), (float)(n_levels - 1));
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

static void fit_around(const struct weighed *of, int zero, struct levels *out)
{
	out->scale = half_of(find_scale(of, zero));
	const float per_number = inverse(out->scale);
	for (int i = 0; i < N; i++)
		out->of[i] = zero + level_of(of->numbers[i] * per_number, -zero, zero - 1);
}

static void fit_between(const struct weighed *of, int n_levels, struct levels *out)
{
	const struct line line = find_line(of, n_levels - 1, true);

	out->scale = half_of(line.scale);
	out->least = half_of(-line.offset);
	const float per_number = inverse(out->scale);
	for (int i = 0; i < N; i++)
		out->of[i] = level_of((of->numbers[i] - out->least) * per_number, 0, n_levels - 1);
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

static void put_around(const float *numbers, const float *weights, bool has_fifth,
	unsigned char *bytes)
{
	const int zero = has_fifth ? 16 : 8;
	struct levels levels;

	if (weights)
		fit_around(&(struct weighed){numbers, weights, N}, zero, &levels);
	else
		find_around(numbers, zero, &levels);
	put_half(bytes, levels.scale);
	put_levels(bytes + 2, &levels, has_fifth);
}

static void put_between(const float *numbers, const float *weights, bool has_fifth,
	unsigned char *bytes)
{
	const int n_levels = has_fifth ? 32 : 16;
	struct levels levels;

	if (weights)
		fit_between(&(struct weighed){numbers, weights, N}, n_levels, &levels);
	else
		find_between(numbers, n_levels, &levels);
	put_half(bytes, levels.scale);
	put_half(bytes + 2, levels.least);
	put_levels(bytes + 4, &levels, has_fifth);
}

static void put_q4_0(const float *numbers, const float *weights, unsigned char *bytes)
{
	put_around(numbers, weights, false, bytes);
}

static void put_q4_1(const float *numbers, const float *weights, unsigned char *bytes)
{
	put_between(numbers, weights, false, bytes);
}

static void put_q5_0(const float *numbers, const float *weights, unsigned char *bytes)
{
	put_around(numbers, weights, true, bytes);
}

static void put_q5_1(const float *numbers, const float *weights, unsigned char *bytes)
{
	put_between(numbers, weights, true, bytes);
}

/* Weights make no other bytes, as in llama.cpp. */
static void put_q8_0(const float *numbers, const float *weights, unsigned char *bytes)
{
	float farthest = 0;

	(void)weights;
	for (int i = 0; i < N; i++)
		farthest = fmaxf(farthest, fabsf(numbers[i]));
	const float scale = farthest / 127, per_number = inverse(scale);
	put_half(bytes, scale);
	for (int i = 0; i < N; i++)
		bytes[2 + i] = (unsigned char)(int8_t)fminf(fmaxf(roundf(numbers[i] * per_number),
								    -127),
			127);
}

/* ---- 256 numbers ---- */

enum {
	BLOCK = 256,
	MOST_SCALE = 63,
	N_LINES = BLOCK / N,
	IN_SCALE = 16,
	N_SCALES = BLOCK / IN_SCALE
};

/* Part number `i` of a block, each of `n` numbers. */
static struct weighed part_of(const float *numbers, const float *weights, int i, int n)
{
	static const float ones[N] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

	return (struct weighed){numbers + n * i, weights ? weights + n * i : ones, n};
}

/* Six bits of each of the eight scales and offsets, in 12 bytes. */
static void put_lines(unsigned char *bytes, const int *scales, const int *offsets)
{
	memset(bytes, 0, 12);
	for (int i = 0; i < 4; i++) {
		bytes[i] = (unsigned char)(scales[i] | (scales[4 + i] >> 4) << 6);
		bytes[4 + i] = (unsigned char)(offsets[i] | (offsets[4 + i] >> 4) << 6);
		bytes[8 + i] = (unsigned char)((scales[4 + i] & 15) | (offsets[4 + i] & 15) << 4);
	}
}

/* Where bits of levels go: the first four of two lines in 32 bytes, the fifth of all lines in 32
 * bytes; NULL: there is none. */
static void put_line_level(unsigned char *low, unsigned char *fifth, int line, int i, int level)
{
	low[32 * (line / 2) + i] |= (unsigned char)((level & 15) << 4 * (line % 2));
	if (fifth)
		fifth[i] |= (unsigned char)((level >> 4) << line);
}

/* The squares that rounding to a line leaves. */
static double left_by(const struct weighed *of, const struct line *line, int most)
{
	const float per_number = inverse(line->scale);
	double left = 0;

	for (int i = 0; i < of->n; i++) {
		const int level = level_of((of->numbers[i] + line->offset) * per_number, 0, most);
		const double error = (double)(line->scale * (float)level - line->offset
			- of->numbers[i]);
		left += (double)of->weights[i] * error * error;
	}
	return left;
}

/* A line in whole units: of those next to it the one that leaves least. */
static struct line round_line(const struct weighed *of, const struct line *line,
	const struct line *unit, int most, int *scale, int *offset)
{
	const int near[2] = {level_of(line->scale * inverse(unit->scale), 0, MOST_SCALE),
		level_of(line->offset * inverse(unit->offset), 0, MOST_SCALE)};
	double best = INFINITY;
	struct line found = {0};

	for (int i = 0; i < 9; i++) {
		const int s = level_of((float)(near[0] + i / 3 - 1), 0, MOST_SCALE);
		const int o = level_of((float)(near[1] + i % 3 - 1), 0, MOST_SCALE);
		const struct line tried = {unit->scale * (float)s, unit->offset * (float)o};
		const double left = left_by(of, &tried, most);
		if (left < best) {
			best = left;
			found = tried;
			*scale = s;
			*offset = o;
		}
	}
	return found;
}

static void put_lined(const float *numbers, const float *weights, int most, unsigned char *bytes)
{
	unsigned char *fifth = most > 15 ? bytes + 16 : NULL, *low = bytes + (fifth ? 48 : 16);
	struct line lines[N_LINES], largest = {0};
	int scales[N_LINES] = {0}, offsets[N_LINES] = {0};

	for (int line = 0; line < N_LINES; line++) {
		const struct weighed part = part_of(numbers, weights, line, N);
		lines[line] = find_line(&part, most, false);
		largest.scale = fmaxf(largest.scale, lines[line].scale);
		largest.offset = fmaxf(largest.offset, lines[line].offset);
	}
	const struct line unit = {half_of(largest.scale / MOST_SCALE),
		half_of(largest.offset / MOST_SCALE)};
	put_half(bytes, unit.scale);
	put_half(bytes + 2, unit.offset);
	memset(bytes + 16, 0, fifth ? 160 : 128);
	for (int line = 0; line < N_LINES; line++) {
		const struct weighed part = part_of(numbers, weights, line, N);
		const struct line found = round_line(&part, &lines[line], &unit, most,
			&scales[line], &offsets[line]);
		const float per_number = inverse(found.scale);
		for (int i = 0; i < N; i++)
			put_line_level(low, fifth, line, i,
				level_of((part.numbers[i] + found.offset) * per_number, 0, most));
	}
	put_lines(bytes + 4, scales, offsets);
}

static void put_q4_k(const float *numbers, const float *weights, unsigned char *bytes)
{
	put_lined(numbers, weights, 15, bytes);
}

static void put_q5_k(const float *numbers, const float *weights, unsigned char *bytes)
{
	put_lined(numbers, weights, 31, bytes);
}

/* Of 128 numbers the low four bits are in 64 bytes, the high two in 32. */
static void put_q6_k(const float *numbers, const float *weights, unsigned char *bytes)
{
	float scales[N_SCALES], farthest = 0;

	for (int i = 0; i < N_SCALES; i++) {
		const struct weighed part = part_of(numbers, weights, i, IN_SCALE);
		scales[i] = find_scale(&part, 32);
		if (fabsf(scales[i]) > fabsf(farthest))
			farthest = scales[i];
	}
	const float unit = half_of(farthest / -128);
	memset(bytes, 0, 192);
	put_half(bytes + 208, unit);
	for (int i = 0; i < BLOCK; i++) {
		const int scale = level_of(scales[i / IN_SCALE] * inverse(unit), -128, 127);
		const int level = 32 + level_of(numbers[i] * inverse(unit * (float)scale), -32, 31);
		const int half = i / 128, part = i / 32 % 4, at = i % 32;
		bytes[192 + i / IN_SCALE] = (unsigned char)(int8_t)scale;
		bytes[64 * half + 32 * (part % 2) + at] |= (unsigned char)((level & 15)
			<< 4 * (part / 2));
		bytes[128 + 32 * half + at] |= (unsigned char)((level >> 4) << 2 * part);
	}
}

/* ---- all blocks ---- */

static void take(const double *from, size_t n, float *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (float)from[i];
}

#define DEFINE_WRITTEN(name, elements, bytes_of_block) \
	void al_##name##_from_weighted(const double *values, const double *weights, size_t n, \
		unsigned char *bytes) \
	{ \
		float numbers[elements], weighed[elements]; \
		for (size_t at = 0; at < n; at += (elements), bytes += (bytes_of_block)) { \
			take(values + at, (elements), numbers); \
			if (weights) \
				take(weights + at, (elements), weighed); \
			put_##name(numbers, weights ? weighed : NULL, bytes); \
		} \
	} \
	void al_##name##_from_double(const double *values, size_t n, unsigned char *bytes) \
	{ \
		al_##name##_from_weighted(values, NULL, n, bytes); \
	}
AL_WRITTEN_BLOCK_FORMATS(DEFINE_WRITTEN)
