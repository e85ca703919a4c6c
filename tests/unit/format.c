/* Number formats: every value of the small ones, the edges of the large ones, and the way back. */
#include "unit.h"

#include <math.h>

#include "base/format.h"

static double read_one(const char *name, uint64_t stored)
{
	unsigned char bytes[9];
	double as_double;
	float as_float;

	/* an odd address */
	memcpy(bytes + 1, &stored, 8);
	al_dtype_stored(name)->to_double(bytes + 1, 1, &as_double);
	al_dtype_stored(name)->to_float(bytes + 1, 1, &as_float);
	if (isnan(as_double))
		assert_true(isnan(as_float));
	else
		assert_true(as_float == (float)as_double);
	return as_double;
}

static uint64_t write_one(const char *name, double value)
{
	uint64_t stored = 0;

	al_dtype_stored(name)->from_double(&value, 1, (unsigned char *)&stored);
	return stored;
}

/* By the definition of a binary format: sign, exponent, fraction. */
static double define(unsigned stored, int exponent_bits, int fraction_bits)
{
	int bias = (1 << (exponent_bits - 1)) - 1;
	unsigned fraction = stored & ((1U << fraction_bits) - 1);
	int exponent = (int)(stored >> fraction_bits) & ((1 << exponent_bits) - 1);
	double sign = stored >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;

	if (exponent == 0)
		return sign * ldexp(fraction, 1 - bias - fraction_bits);
	return sign * ldexp((1 << fraction_bits) + (int)fraction, exponent - bias - fraction_bits);
}

static void check_value(const char *name, unsigned stored, double expected)
{
	double found = read_one(name, stored);

	if (found == expected && signbit(found) == signbit(expected))
		return;
	fail_msg("%s 0x%x: found %a, expected %a", name, stored, found, expected);
}

static void every_f16_is_exact(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1U << 16; i++) {
		if ((i & 0x7C00) != 0x7C00)
			check_value("F16", i, define(i, 5, 10));
		else if ((i & 0x3FF) == 0)
			check_value("F16", i, i & 0x8000 ? -INFINITY : INFINITY);
		else
			assert_true(isnan(read_one("F16", i)));
	}
}

static void every_bf16_is_exact(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1U << 16; i++) {
		if ((i & 0x7F80) != 0x7F80)
			check_value("BF16", i, define(i, 8, 7));
		else if ((i & 0x7F) == 0)
			check_value("BF16", i, i & 0x8000 ? -INFINITY : INFINITY);
		else
			assert_true(isnan(read_one("BF16", i)));
	}
}

static void every_f8_is_exact(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		if ((i & 0x7F) == 0x7F)
			assert_true(isnan(read_one("F8_E4M3", i)));
		else
			check_value("F8_E4M3", i, define(i, 4, 3));
		if ((i & 0x7C) != 0x7C)
			check_value("F8_E5M2", i, define(i, 5, 2));
		else if ((i & 3) == 0)
			check_value("F8_E5M2", i, i & 0x80 ? -INFINITY : INFINITY);
		else
			assert_true(isnan(read_one("F8_E5M2", i)));
	}
	/* arXiv:2209.05433, table 1: the largest numbers */
	check_value("F8_E4M3", 0x7E, 448);
	check_value("F8_E5M2", 0x7B, 57344);
}

static const struct {
	const char *dtype;
	uint64_t stored;
	double value;
} edges[] = {
	{"F32", 0x00000001, 0x1p-149},
	{"F32", 0x7F7FFFFF, 0x1.fffffep127},
	{"F32", 0x80000000, -0.0},
	{"F64", 0x0000000000000001, 0x1p-1074},
	{"F64", 0xFFF0000000000000, -INFINITY},
	{"I64", 0x8000000000000000, -0x1p63},
	{"I64", 0xFFFFFFFFFFFFFFFF, -1},
	{"U64", 0x8000000000000000, 0x1p63},
	{"I32", 0x80000000, -2147483648.0},
	{"U32", 0xFFFFFFFF, 4294967295.0},
	{"I16", 0x8000, -32768},
	{"U16", 0xFFFF, 65535},
	{"I8", 0x80, -128},
	{"U8", 0xFF, 255},
	{"BOOL", 0, 0},
	{"BOOL", 1, 1},
};

static void edges_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
		double found = read_one(edges[i].dtype, edges[i].stored);
		if (found != edges[i].value || signbit(found) != signbit(edges[i].value))
			fail_msg("%s: found %a, expected %a", edges[i].dtype, found,
				edges[i].value);
	}
}

/* Long enough for the vectors of any compiler, at an odd address. */
static void many_are_like_one(void **state)
{
	enum { N = 1003 };
	static unsigned char bytes[8 * N + 1];
	static double doubles[N];
	static float floats[N];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 151 + 11);
	for (size_t d = 0; al_dtype_at(d); d++) {
		const struct al_dtype *dtype = al_dtype_at(d);
		if (!dtype->to_double || dtype->block_elements > 1) /* of blocks: unit/gguf.c */
			continue;
		dtype->to_double(bytes + 1, N, doubles);
		dtype->to_float(bytes + 1, N, floats);
		for (size_t i = 0; i < N; i++) {
			uint64_t stored = 0;
			memcpy(&stored, bytes + 1 + i * dtype->block_bytes, dtype->block_bytes);
			double one = read_one(dtype->stored, stored);
			assert_true(isnan(one) ? isnan(doubles[i]) : one == doubles[i]);
			assert_true(isnan(one) ? isnan(floats[i]) : (float)one == floats[i]);
		}
	}
}

static void what_is_written_reads_back(void **state)
{
	static const char *const names[] = {"F16", "BF16"};

	(void)state;
	for (size_t n = 0; n < 2; n++)
		for (uint64_t i = 0; i < 1U << 16; i++) {
			double value = read_one(names[n], i);
			uint64_t again = write_one(names[n], value);
			if (isnan(value))
				assert_true(isnan(read_one(names[n], again)));
			else if (again != i)
				fail_msg("%s 0x%llx comes back as 0x%llx", names[n],
					(unsigned long long)i, (unsigned long long)again);
		}
	assert_int_equal(write_one("F64", -2), 0xC000000000000000);
	assert_int_equal(write_one("F32", 1 + 0x1p-24), 0x3F800000);
}

static const struct {
	const char *dtype;
	double value;
	uint64_t stored;
} roundings[] = {
	{"BF16", 1 + 0x1p-8, 0x3F80}, /* a tie goes to even */
	{"BF16", 1 + 0x3p-8, 0x3F82},
	{"BF16", 1 + 0x1p-8 + 0x1p-40, 0x3F81}, /* not rounded to float first */
	{"BF16", 0x1.ffp127, 0x7F80}, /* beyond the largest */
	{"BF16", 0x1.fe8p127, 0x7F7F},
	{"BF16", -0x1p-134, 0x8000}, /* half of the smallest: a tie */
	{"BF16", 0x1.8p-134, 0x0001},
	{"F16", 65519, 0x7BFF},
	{"F16", 65520, 0x7C00},
	{"F16", -1e300, 0xFC00},
	{"F16", 1 + 0x1p-11, 0x3C00},
	{"F16", 1 + 0x1p-11 + 0x1p-50, 0x3C01},
	{"F16", 0x1p-25, 0x0000},
	{"F16", 0x1.1p-25, 0x0001},
	{"F16", 0x1.ffep-15, 0x0400}, /* up to the smallest normal number */
	{"F16", -0.0, 0x8000},
};

static void rounds_to_nearest_even(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(roundings) / sizeof(*roundings); i++) {
		uint64_t stored = write_one(roundings[i].dtype, roundings[i].value);
		if (stored != roundings[i].stored)
			fail_msg("%s of %a: found 0x%04llx, expected 0x%04llx", roundings[i].dtype,
				roundings[i].value, (unsigned long long)stored,
				(unsigned long long)roundings[i].stored);
	}
}

/* The number behind 1 is stored as the next whole number. */
static void epsilon_is_the_step_behind_one(void **state)
{
	static const struct {
		const char *dtype;
		uint64_t one;
	} ones[] = {{"F64", UINT64_C(0x3FF) << 52}, {"F32", 0x7F << 23}, {"F16", 0xF << 10},
		{"BF16", 0x7F << 7}, {"F8_E5M2", 0xF << 2}, {"F8_E4M3", 0x7 << 3}};

	(void)state;
	for (size_t i = 0; i < sizeof(ones) / sizeof(*ones); i++) {
		assert_true(read_one(ones[i].dtype, ones[i].one) == 1);
		assert_true(read_one(ones[i].dtype, ones[i].one + 1) - 1
			== al_dtype_stored(ones[i].dtype)->epsilon);
	}
	assert_true(al_dtype_stored("I32")->epsilon == 0);
}

/* Of many numbers one lies nearly half a step from what is stored. */
static void epsilon_is_a_blocks_coarsest_step(void **state)
{
	static const char *const names[] = {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k",
		"q6_k"};
	enum { N = AL_MOST_BLOCK_ELEMENTS };
	unsigned char bytes[2 * N];
	double numbers[N], read[N];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct al_dtype *dtype = al_dtype_named(names[i]);
		double worst = 0;
		for (size_t k = 0; k < N; k++)
			numbers[k] = k % 16 == 0 ? -1 : 0.8 * sin((double)(k * k));
		dtype->from_weighted(numbers, NULL, N, bytes);
		dtype->to_double(bytes, N, read);
		for (size_t k = 0; k < N; k++)
			worst = fmax(worst, fabs(read[k] - numbers[k]));
		assert_true(worst > 0.3 * dtype->epsilon && worst < 0.6 * dtype->epsilon);
	}
}

static void sizes_are_whole_and_bounded(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_true(al_dtype_size(al_dtype_stored("F4"), 6, &bytes) && bytes == 3);
	assert_false(al_dtype_size(al_dtype_stored("F4"), 3, &bytes));
	assert_true(al_dtype_size(al_dtype_stored("F6_E2M3"), 8, &bytes) && bytes == 6);
	assert_false(al_dtype_size(al_dtype_stored("F6_E3M2"), 6, &bytes));
	assert_false(al_dtype_size(al_dtype_stored("C64"), INT64_MAX, &bytes));
	assert_null(al_dtype_stored("f32"));
	assert_null(al_dtype_stored("F4")->to_double);
}

/* One word, one row; whatever a row falls back to is one too, and in the end has no blocks. */
static void names_and_fallbacks_are_sound(void **state)
{
	(void)state;
	for (size_t i = 0; al_dtype_at(i); i++) {
		const struct al_dtype *dtype = al_dtype_at(i), *found;
		struct al_error err;
		assert_true(dtype->name || dtype->stored);
		if (dtype->stored)
			assert_ptr_equal(al_dtype_stored(dtype->stored), dtype);
		if (!dtype->name)
			continue;
		assert_true(al_dtype_find(dtype->name, &found, &err) && found == dtype);
		for (int j = 0; j < AL_DTYPE_ALIASES && dtype->aliases[j]; j++)
			assert_ptr_equal(al_dtype_named(dtype->aliases[j]), dtype);
		assert_int_equal(al_dtype_of_row(dtype, 1)->block_elements, 1);
	}
}

/* A block of 32 numbers, of which ggml makes these bytes (gguf 0.19.0, quants.quantize). */
static void blocks_are_those_of_ggml(void **state)
{
	static const struct {
		const char *format, *bytes;
	} rows[] = {
		{"q4_0", "003530b752d9742b9641b8630a852ca741c9"},
		{"q4_1", "333400c140d962fb952eb751da730c953ec851ea"},
		{"q5_0", "003128954aa9605fa493e8472c8160c51409584d9281"},
		{"q5_1", "113000c12ab55aa980a2d5f72a4c7f91c4e6193b6e80b3d5"},
		{"q8_0", "0a2581f6a116c036e08b00aa20ca40ea940ab429d449f39e13bd33dd87fda71dc73c"},
	};
	double numbers[32];

	(void)state;
	for (int i = 0; i < 32; i++)
		numbers[i] = (i * 37 % 64 - 40) / 16.0;
	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		unsigned char bytes[64];
		char text[2 * sizeof(bytes) + 1] = "";
		const struct al_dtype *dtype = al_dtype_named(rows[row].format);
		dtype->from_double(numbers, 32, bytes);
		for (size_t i = 0; i < dtype->block_bytes; i++)
			snprintf(text + 2 * i, 3, "%02x", bytes[i]);
		assert_string_equal(text, rows[row].bytes);
	}
	assert_string_equal(al_dtype_of_written_row(al_dtype_named("q4_k"), 512)->name, "q4_k");
	assert_string_equal(al_dtype_of_written_row(al_dtype_named("q4_k"), 288)->name, "q5_0");
	assert_string_equal(al_dtype_of_written_row(al_dtype_named("q8_0"), 240)->name, "f16");
	assert_string_equal(al_dtype_of_written_row(al_dtype_named("q2_k"), 512)->name, "q4_k");
}

static double weighted_error(const struct al_dtype *dtype, const double *numbers,
	const double *weights, bool knows_weights)
{
	unsigned char bytes[2 * AL_MOST_BLOCK_ELEMENTS];
	double read[AL_MOST_BLOCK_ELEMENTS], lost = 0;

	dtype->from_weighted(numbers, knows_weights ? weights : NULL, AL_MOST_BLOCK_ELEMENTS,
		bytes);
	dtype->to_double(bytes, AL_MOST_BLOCK_ELEMENTS, read);
	for (size_t i = 0; i < AL_MOST_BLOCK_ELEMENTS; i++)
		lost += weights[i] * (read[i] - numbers[i]) * (read[i] - numbers[i]);
	return lost;
}

/* tests/reference/weighted.py holds the errors against ggml's. */
static void weights_lessen_what_they_weigh(void **state)
{
	static const char *const names[] = {"q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"};
	double numbers[AL_MOST_BLOCK_ELEMENTS], weights[AL_MOST_BLOCK_ELEMENTS],
		none[AL_MOST_BLOCK_ELEMENTS] = {0};

	(void)state;
	for (size_t i = 0; i < AL_MOST_BLOCK_ELEMENTS; i++) {
		numbers[i] = sin((double)(i * i));
		weights[i] = i % 5 ? 0.001 : 1;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct al_dtype *dtype = al_dtype_named(names[i]);
		assert_true(weighted_error(dtype, numbers, weights, true)
			< 0.97 * weighted_error(dtype, numbers, weights, false));
		assert_true(weighted_error(dtype, numbers, none, true) == 0);
	}
	const struct al_dtype *q8_0 = al_dtype_named("q8_0");
	assert_true(weighted_error(q8_0, numbers, weights, true)
		== weighted_error(q8_0, numbers, weights, false));
}

/* 2^-24 times the weights, and the same bytes come out; without weights those of equal ones. */
static void only_the_weights_proportions_count(void **state)
{
	static const char *const names[] = {"q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"};
	enum { N = AL_MOST_BLOCK_ELEMENTS };
	unsigned char bytes[2 * N] = {0}, lighter[2 * N] = {0};
	double numbers[N], weights[N], small[N], equal[N];

	(void)state;
	for (size_t i = 0; i < N; i++) {
		numbers[i] = 1 + sin((double)(i * i));
		weights[i] = 1 + (double)(i % 7);
		small[i] = ldexp(weights[i], -24);
		equal[i] = 1;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct al_dtype *dtype = al_dtype_named(names[i]);
		dtype->from_weighted(numbers, weights, N, bytes);
		dtype->from_weighted(numbers, small, N, lighter);
		assert_memory_equal(bytes, lighter, sizeof(bytes));
		if (!strchr(names[i], 'k'))
			continue;
		dtype->from_weighted(numbers, equal, N, bytes);
		dtype->from_weighted(numbers, NULL, N, lighter);
		assert_memory_equal(bytes, lighter, sizeof(bytes));
	}
}

/* Of normal numbers ggml itself loses 7.1, 3.6 and 1.8 %. NaN is no accident, and zeros stay. */
static void large_blocks_lose_little(void **state)
{
	static const struct {
		const char *format;
		double most;
	} rows[] = {{"q4_k", 0.075}, {"q5_k", 0.038}, {"q6_k", 0.019}};
	double numbers[2 * AL_MOST_BLOCK_ELEMENTS], read[2 * AL_MOST_BLOCK_ELEMENTS];
	const size_t n = sizeof(numbers) / sizeof(*numbers);

	(void)state;
	for (size_t i = 0; i < n; i++)
		numbers[i] = cos(0.7 * (double)i * (double)i)
			* sqrt(-log((double)(i + 1) / (double)(n + 1)));
	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		const struct al_dtype *dtype = al_dtype_named(rows[row].format);
		unsigned char bytes[2 * AL_MOST_BLOCK_ELEMENTS];
		double lost = 0, whole = 0;
		dtype->from_double(numbers, n, bytes);
		dtype->to_double(bytes, n, read);
		for (size_t i = 0; i < n; i++) {
			lost += (read[i] - numbers[i]) * (read[i] - numbers[i]);
			whole += numbers[i] * numbers[i];
		}
		assert_true(sqrt(lost / whole) < rows[row].most);
		dtype->from_double((const double[AL_MOST_BLOCK_ELEMENTS]){(double)NAN}, 256, bytes);
		dtype->from_double((const double[AL_MOST_BLOCK_ELEMENTS]){0}, 256, bytes);
		dtype->to_double(bytes, 256, read);
		for (size_t i = 0; i < 256; i++)
			assert_true(read[i] == 0);
	}
}

static void an_unknown_name_is_refused(void **state)
{
	const struct al_dtype *dtype;
	struct al_error err;

	(void)state;
	assert_false(al_dtype_find("fp17", &dtype, &err));
	assert_string_equal(err.message, "unknown dtype \"fp17\" (did you mean \"fp16\"?)");
	assert_false(al_dtype_find("q4_k_m", &dtype, &err)); /* a file's type, not a number's */
	assert_string_equal(err.message, "unknown dtype \"q4_k_m\" (did you mean \"q4_k\"?)");
	assert_false(al_dtype_find("U64", &dtype, &err)); /* checkpoints have it, options don't */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_f16_is_exact),
		cmocka_unit_test(every_bf16_is_exact),
		cmocka_unit_test(every_f8_is_exact),
		cmocka_unit_test(edges_are_exact),
		cmocka_unit_test(many_are_like_one),
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(rounds_to_nearest_even),
		cmocka_unit_test(epsilon_is_the_step_behind_one),
		cmocka_unit_test(epsilon_is_a_blocks_coarsest_step),
		cmocka_unit_test(sizes_are_whole_and_bounded),
		cmocka_unit_test(names_and_fallbacks_are_sound),
		cmocka_unit_test(blocks_are_those_of_ggml),
		cmocka_unit_test(weights_lessen_what_they_weigh),
		cmocka_unit_test(only_the_weights_proportions_count),
		cmocka_unit_test(large_blocks_lose_little),
		cmocka_unit_test(an_unknown_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
