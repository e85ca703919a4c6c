/* Encoding of GGUF's formats of 256 numbers: scales by least squares over several roundings. Bytes
 * are not ggml's, whose search weighs large numbers more; the squared error is no larger. */
#include "base/blocks.h"

#include "base/base.h"
#include "base/half.h"

enum { BLOCK = 256, MOST_SCALE = 63 };

/* Levels of the largest number that are tried: so many, so far apart, around the highest level. */
enum { N_STEPS = 11 };
static const float STEP = 0.25F;

static float half_of(float value)
{
	return al_f16_value(al_f16_of((double)value));
}

static void put_half(unsigned char *bytes, float value)
{
	const uint16_t stored = al_f16_of((double)value);

	memcpy(bytes, &stored, sizeof(stored));
}

static float inverse(float step)
{
	return step != 0 ? 1 / step : 0;
}

/* The nearest whole number within bounds; the least for NaN. */
static int level_of(float level, int least, int most)
{
	return !(level > (float)least) ? least : level < (float)most ? (int)rintf(level) : most;
}

/* ---- a scale and an offset for 32 numbers ---- */

enum { IN_LINE = 32, N_LINES = BLOCK / IN_LINE };

/* A number is scale * level - offset; neither is negative. */
struct line {
	float scale, offset;
};

/* The best line of the levels that rounding with `line` gives, and what is left of the squares,
 * but for those of the numbers. */
static double fit_line(const float *numbers, const struct line *line, int most, struct line *out)
{
	const float per_number = inverse(line->scale);
	double levels = 0, squares = 0, sum = 0, products = 0;

	for (int i = 0; i < IN_LINE; i++) {
		const int level = level_of((numbers[i] + line->offset) * per_number, 0, most);
		levels += level;
		squares += level * level;
		sum += (double)numbers[i];
		products += (double)numbers[i] * level;
	}
	const double divisor = IN_LINE * squares - levels * levels;
	double scale = divisor > 0 ? (IN_LINE * products - sum * levels) / divisor : 0;
	double offset = (scale * levels - sum) / IN_LINE;
	if (offset < 0) {
		offset = 0;
		scale = squares > 0 ? products / squares : 0;
	}
	scale = fmax(0, scale);
	*out = (struct line){(float)scale, (float)offset};
	return scale * scale * squares - 2 * scale * products + 2 * offset * sum
		- 2 * scale * offset * levels + IN_LINE * offset * offset;
}

/* Of several roundings the one with the best line, and the line that this one rounds to. */
static struct line find_line(const float *numbers, int most)
{
	float least = 0, largest = 0;
	double best = INFINITY;
	struct line found = {0}, line;

	for (int i = 0; i < IN_LINE; i++) {
		least = fminf(least, numbers[i]);
		largest = fmaxf(largest, numbers[i]);
	}
	for (int step = 0; step < 2 * N_STEPS; step++) {
		const struct line tried = {(largest - least)
				/ ((float)most + STEP * (float)(step / 2 - N_STEPS / 2)),
			-least};
		const double left = fit_line(numbers, step % 2 ? &line : &tried, most, &line);
		if (left < best) {
			best = left;
			found = line;
		}
	}
	return found;
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

static void put_lined(const float *numbers, int most, unsigned char *bytes)
{
	unsigned char *fifth = most > 15 ? bytes + 16 : NULL, *low = bytes + (fifth ? 48 : 16);
	struct line lines[N_LINES], largest = {0};
	int scales[N_LINES], offsets[N_LINES];

	for (int line = 0; line < N_LINES; line++) {
		lines[line] = find_line(numbers + IN_LINE * line, most);
		largest.scale = fmaxf(largest.scale, lines[line].scale);
		largest.offset = fmaxf(largest.offset, lines[line].offset);
	}
	const struct line unit = {half_of(largest.scale / MOST_SCALE),
		half_of(largest.offset / MOST_SCALE)};
	put_half(bytes, unit.scale);
	put_half(bytes + 2, unit.offset);
	memset(bytes + 16, 0, fifth ? 160 : 128);
	for (int line = 0; line < N_LINES; line++) {
		scales[line] = level_of(lines[line].scale * inverse(unit.scale), 0, MOST_SCALE);
		offsets[line] = level_of(lines[line].offset * inverse(unit.offset), 0, MOST_SCALE);
		const float per_number = inverse(unit.scale * (float)scales[line]),
			    offset = unit.offset * (float)offsets[line];
		for (int i = 0; i < IN_LINE; i++)
			put_line_level(low, fifth, line, i,
				level_of((numbers[IN_LINE * line + i] + offset) * per_number, 0,
					most));
	}
	put_lines(bytes + 4, scales, offsets);
}

static void put_q4_k(const float *numbers, unsigned char *bytes)
{
	put_lined(numbers, 15, bytes);
}

static void put_q5_k(const float *numbers, unsigned char *bytes)
{
	put_lined(numbers, 31, bytes);
}

/* ---- a scale for 16 numbers ---- */

enum { IN_SCALE = 16, N_SCALES = BLOCK / IN_SCALE };

static float find_scale(const float *numbers)
{
	float farthest = 0, found = 0;
	double best = 0;

	for (int i = 0; i < IN_SCALE; i++)
		if (fabsf(numbers[i]) > fabsf(farthest))
			farthest = numbers[i];
	for (int step = 0; step < N_STEPS; step++) {
		const float per_number = (STEP * (float)(step - N_STEPS / 2) - 32)
			* inverse(farthest);
		double products = 0, squares = 0;
		for (int i = 0; i < IN_SCALE; i++) {
			const int level = level_of(numbers[i] * per_number, -32, 31);
			products += (double)numbers[i] * level;
			squares += level * level;
		}
		if (squares > 0 && products * products > best * squares) {
			best = products * products / squares;
			found = (float)(products / squares);
		}
	}
	return found;
}

/* Of 128 numbers the low four bits are in 64 bytes, the high two in 32. */
static void put_q6_k(const float *numbers, unsigned char *bytes)
{
	float scales[N_SCALES], farthest = 0;

	for (int i = 0; i < N_SCALES; i++) {
		scales[i] = find_scale(numbers + IN_SCALE * i);
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

#define DEFINE_WRITTEN(name, bytes_of_block) \
	void al_##name##_from_double(const double *values, size_t n, unsigned char *bytes) \
	{ \
		float numbers[BLOCK]; \
		for (size_t block = 0; block < n / BLOCK; block++) { \
			for (size_t i = 0; i < BLOCK; i++) \
				numbers[i] = (float)values[block * BLOCK + i]; \
			put_##name(numbers, bytes + block * (bytes_of_block)); \
		} \
	}
AL_WRITTEN_SUPER_BLOCKS(DEFINE_WRITTEN)
