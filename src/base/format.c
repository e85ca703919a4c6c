/* Number formats: one row each.
 *
 * F16 and BF16 are IEEE 754 binary16 and the upper half of binary32. F8_E5M2 is the upper half of
 * binary16; F8_E4M3 has no infinities, and only S.1111.111 is NaN (Micikevicius et al. 2022,
 * arXiv:2209.05433). Blocks as in ggml-common.h; what a row falls back to as in llama.cpp's
 * quantization (llama-quant.cpp). */
#include "base/format.h"

#include <strings.h>

#include "base/base.h"
#include "base/blocks.h"
#include "base/half.h"
#include "base/wide.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stored numbers are copied as they are");
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8, "IEEE 754 binary32 and binary64");

/* ---- one element ---- */

static inline float bf16_value(uint16_t stored)
{
	return al_float_of_bits((uint32_t)stored << 16);
}

static inline float f8_e5m2_value(uint8_t stored)
{
	return al_f16_value((uint16_t)(stored << 8));
}

static inline float f8_e4m3_value(uint8_t stored)
{
	uint32_t sign = (uint32_t)(stored & 0x80) << 24;
	uint32_t magnitude = stored & 0x7F;
	uint32_t normal = (magnitude << 20) + (UINT32_C(120) << 23);
	uint32_t subnormal = al_bits_of_float((float)(int32_t)magnitude * 0x1p-9F);
	uint32_t finite = al_choose_bits(magnitude < 8, subnormal, normal);

	return al_float_of_bits(
		sign | al_choose_bits(magnitude == 0x7F, UINT32_C(0x7FC00000), finite));
}

static inline int boolean_value(uint8_t stored)
{
	return stored != 0;
}

/* ---- many elements ---- */

#define SAME(x) (x)

/* NAME_to_double and NAME_to_float for elements that are stored as STORED and mean
 * VALUE(stored). */
#define CONVERT_TO(name, stored_type, value, type) \
	AL_WIDE static void name##_to_##type(const unsigned char *bytes, size_t n, type *out) \
	{ \
		for (size_t i = 0; i < n; i++) { \
			stored_type stored; \
			memcpy(&stored, bytes + i * sizeof(stored), sizeof(stored)); \
			out[i] = (type)value(stored); \
		} \
	}
#define CONVERT(name, stored_type, value) \
	CONVERT_TO(name, stored_type, value, double) \
	CONVERT_TO(name, stored_type, value, float)

CONVERT(f64, double, SAME)
CONVERT(f32, float, SAME)
CONVERT(f16, uint16_t, al_f16_value)
CONVERT(bf16, uint16_t, bf16_value)
CONVERT(f8_e5m2, uint8_t, f8_e5m2_value)
CONVERT(f8_e4m3, uint8_t, f8_e4m3_value)
CONVERT(i64, int64_t, SAME)
CONVERT(i32, int32_t, SAME)
CONVERT(i16, int16_t, SAME)
CONVERT(i8, int8_t, SAME)
CONVERT(u64, uint64_t, SAME)
CONVERT(u32, uint32_t, SAME)
CONVERT(u16, uint16_t, SAME)
CONVERT(u8, uint8_t, SAME)
CONVERT(boolean, uint8_t, boolean_value)

/* ---- writing ---- */

/* The nearest number with `digits` binary digits whose last one counts at least 2^lowest: exact in
 * float, so that nothing is rounded twice. */
static double round_to(double value, int digits, int lowest)
{
	int exponent;

	if (!isfinite(value) || fpclassify(value) == FP_ZERO)
		return value;
	frexp(value, &exponent);
	int unit = al_most(exponent - digits, lowest);
	return ldexp(nearbyint(ldexp(value, -unit)), unit);
}

static void f64_from_double(const double *values, size_t n, unsigned char *bytes)
{
	memcpy(bytes, values, n * sizeof(*values));
}

static void f32_from_double(const double *values, size_t n, unsigned char *bytes)
{
	for (size_t i = 0; i < n; i++) {
		float value = (float)values[i];
		memcpy(bytes + 4 * i, &value, sizeof(value));
	}
}

static void bf16_from_double(const double *values, size_t n, unsigned char *bytes)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t bits = al_bits_of_float((float)round_to(values[i], 8, -133));
		uint16_t stored = (uint16_t)(bits >> 16);
		if (isnan(values[i]))
			stored |= 0x40; /* its payload may be in the half that goes */
		memcpy(bytes + 2 * i, &stored, sizeof(stored));
	}
}

uint16_t al_f16_of(double value)
{
	double rounded = fabs(round_to(value, 11, -24));
	uint16_t sign = signbit(value) ? 0x8000 : 0;

	if (isnan(value))
		return (uint16_t)(sign | 0x7E00);
	if (rounded > 65504)
		return (uint16_t)(sign | 0x7C00);
	if (rounded < 0x1p-14)
		return (uint16_t)(sign | (uint16_t)(rounded * 0x1p24));
	return (uint16_t)(sign
		| ((al_bits_of_float((float)rounded) - (UINT32_C(112) << 23)) >> 13));
}

static void f16_from_double(const double *values, size_t n, unsigned char *bytes)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t stored = al_f16_of(values[i]);
		memcpy(bytes + 2 * i, &stored, sizeof(stored));
	}
}

/* ---- the list ---- */

/* The fields of a format of single numbers, and of a block format. */
#define BYTES(n) .block_elements = 1, .block_bytes = (n)
#define BLOCK(n, bytes) .block_elements = (n), .block_bytes = (bytes)

#define CONVERTED(name) .to_double = name##_to_double, .to_float = name##_to_float
#define DECODED(name) .to_double = al_##name##_to_double, .to_float = al_##name##_to_float
#define ENCODED(name) \
	DECODED(name), .from_double = al_##name##_from_double, \
		       .from_weighted = al_##name##_from_weighted
#define WRITTEN(name) CONVERTED(name), .from_double = name##_from_double

static const struct al_dtype dtypes[] = {
	{"f64", {"fp64"}, "F64", BYTES(8), .epsilon = 0x1p-52, WRITTEN(f64)},
	{"f32", {"fp32", "float32"}, "F32", BYTES(4), .epsilon = 0x1p-23, WRITTEN(f32)},
	{"f16", {"fp16", "float16"}, "F16", BYTES(2), .epsilon = 0x1p-10, WRITTEN(f16)},
	{"bf16", {"bfloat16"}, "BF16", BYTES(2), .epsilon = 0x1p-7, WRITTEN(bf16)},
	/* Who asks for bytes doesn't care which of the two it is; who reads numbers does. */
	{"fp8", {"f8", "f8_e4m3", "f8_e5m2"}, NULL, BYTES(1)},
	{"fp8_128", {NULL}, NULL, BLOCK(128, 132),
		.fallback = "bf16"}, /* with an f32 scale for 128 numbers */
	{"fp8_512", {NULL}, NULL, BLOCK(512, 584),
		.fallback = "bf16"}, /* 448 with 8 bytes of scales, 64 in bf16: DeepSeek-V4's */
	{.stored = "F8_E5M2", BYTES(1), .epsilon = 0x1p-2, .needs_scale = true, CONVERTED(f8_e5m2)},
	{.stored = "F8_E4M3", BYTES(1), .epsilon = 0x1p-3, .needs_scale = true, CONVERTED(f8_e4m3)},
	{"i64", {NULL}, "I64", BYTES(8), CONVERTED(i64)},
	{"i32", {NULL}, "I32", BYTES(4), CONVERTED(i32)},
	{"i16", {NULL}, "I16", BYTES(2), CONVERTED(i16)},
	{"int8", {"i8"}, "I8", BYTES(1), CONVERTED(i8)},
	{"int4", {"i4"}, NULL, BLOCK(2, 1), .fallback = "int8"},
	{"int2", {"i2"}, NULL, BLOCK(4, 1), .fallback = "int8"},
	{.stored = "U64", BYTES(8), CONVERTED(u64)},
	{.stored = "U32", BYTES(4), CONVERTED(u32)},
	{.stored = "U16", BYTES(2), CONVERTED(u16)},
	{"u8", {NULL}, "U8", BYTES(1), CONVERTED(u8)},
	{"bool", {NULL}, "BOOL", BYTES(1), CONVERTED(boolean)},
	{.stored = "F8_E8M0", BYTES(1)},
	{.stored = "F6_E2M3", BLOCK(4, 3)},
	{.stored = "F6_E3M2", BLOCK(4, 3)},
	{.stored = "F4", BLOCK(2, 1)},
	{.stored = "C64", BYTES(8)},
	{"q1_0", BLOCK(128, 18), .fallback = "q4_0"},
	{"q2_0", BLOCK(64, 18), .fallback = "q4_0"},
	{"q4_0", BLOCK(32, 18), .fallback = "f16", .epsilon = 0x1p-3, ENCODED(q4_0)},
	{"q4_1", BLOCK(32, 20), .fallback = "f16", .epsilon = 0x1p-3, ENCODED(q4_1)},
	{"q5_0", BLOCK(32, 22), .fallback = "f16", .epsilon = 0x1p-4, ENCODED(q5_0)},
	{"q5_1", BLOCK(32, 24), .fallback = "f16", .epsilon = 0x1p-4, ENCODED(q5_1)},
	{"q8_0", BLOCK(32, 34), .fallback = "f16", .epsilon = 0x1p-7, ENCODED(q8_0)},
	{"q8_1", BLOCK(32, 36), .fallback = "f16"},
	{"q2_k", BLOCK(256, 84), .fallback = "iq4_nl", .epsilon = 0x1p-1, DECODED(q2_k)},
	{"q3_k", BLOCK(256, 110), .fallback = "iq4_nl", .epsilon = 0x1p-2, DECODED(q3_k)},
	{"q4_k", BLOCK(256, 144), .fallback = "q5_0", .epsilon = 0x1p-3, ENCODED(q4_k)},
	{"q5_k", BLOCK(256, 176), .fallback = "q5_1", .epsilon = 0x1p-4, ENCODED(q5_k)},
	{"q6_k", BLOCK(256, 210), .fallback = "q8_0", .epsilon = 0x1p-5, ENCODED(q6_k)},
	{"q8_k", BLOCK(256, 292), .fallback = "q8_0"},
	{"iq1_s", BLOCK(256, 50), .fallback = "iq4_nl"},
	{"iq1_m", BLOCK(256, 56), .fallback = "iq4_nl"},
	{"iq2_xxs", BLOCK(256, 66), .fallback = "iq4_nl", .epsilon = 0x1p-1, DECODED(iq2_xxs)},
	{"iq2_xs", BLOCK(256, 74), .fallback = "iq4_nl"},
	{"iq2_s", BLOCK(256, 82), .fallback = "iq4_nl"},
	{"iq3_xxs", BLOCK(256, 98), .fallback = "iq4_nl"},
	{"iq3_s", BLOCK(256, 110), .fallback = "iq4_nl"},
	{"iq4_nl", BLOCK(32, 18), .fallback = "f16", .epsilon = 0x1p-3, DECODED(iq4_nl)},
	{"iq4_xs", BLOCK(256, 136), .fallback = "iq4_nl", .epsilon = 0x1p-3, DECODED(iq4_xs)},
	{"tq1_0", BLOCK(256, 54), .fallback = "q4_0"},
	{"tq2_0", BLOCK(256, 66), .fallback = "q4_0"},
	{"mxfp4", BLOCK(32, 17), .fallback = "f16", .epsilon = 0x1p-1, DECODED(mxfp4)},
	{"nvfp4", BLOCK(64, 36), .fallback = "f16"},
};
enum { N_DTYPES = sizeof(dtypes) / sizeof(*dtypes) };

/* ---- names ---- */

static bool is_called(const struct al_dtype *dtype, const char *name)
{
	if (!dtype->name)
		return false;
	for (int i = 0; i < AL_DTYPE_ALIASES && dtype->aliases[i]; i++)
		if (strcasecmp(dtype->aliases[i], name) == 0)
			return true;
	return strcasecmp(dtype->name, name) == 0;
}

const struct al_dtype *al_dtype_named(const char *name)
{
	for (size_t i = 0; i < N_DTYPES; i++)
		if (is_called(&dtypes[i], name))
			return &dtypes[i];
	return NULL;
}

void al_dtype_add_names(struct al_names *names)
{
	for (size_t i = 0; i < N_DTYPES; i++)
		if (dtypes[i].name)
			al_names_add(names, dtypes[i].name);
	for (size_t i = 0; i < N_DTYPES; i++)
		for (int j = 0; j < AL_DTYPE_ALIASES && dtypes[i].aliases[j]; j++)
			al_names_add(names, dtypes[i].aliases[j]);
}

bool al_dtype_find(const char *name, const struct al_dtype **out, struct al_error *err)
{
	struct al_names names;

	*out = al_dtype_named(name);
	if (*out)
		return true;
	al_names_init(&names);
	al_dtype_add_names(&names);
	return al_names_fail(&names, "dtype", name, err);
}

const char *al_dtype_title(const struct al_dtype *dtype)
{
	return dtype->stored ? dtype->stored : dtype->name;
}

const struct al_dtype *al_dtype_stored(const char *stored)
{
	for (size_t i = 0; i < N_DTYPES; i++)
		if (dtypes[i].stored && strcmp(dtypes[i].stored, stored) == 0)
			return &dtypes[i];
	return NULL;
}

const struct al_dtype *al_dtype_at(size_t i)
{
	return i < N_DTYPES ? &dtypes[i] : NULL;
}

/* ---- sizes ---- */

const struct al_dtype *al_dtype_of_row(const struct al_dtype *dtype, int64_t row)
{
	while (dtype->fallback && row % (int64_t)dtype->block_elements != 0)
		dtype = al_dtype_named(dtype->fallback);
	return dtype;
}

const struct al_dtype *al_dtype_of_written_row(const struct al_dtype *dtype, int64_t row)
{
	return al_dtype_of_row(dtype->from_double ? dtype : al_dtype_named("q4_k"), row);
}

bool al_dtype_size(const struct al_dtype *dtype, int64_t n_elements, uint64_t *bytes)
{
	uint64_t n = (uint64_t)n_elements;

	return n % dtype->block_elements == 0
		&& !__builtin_mul_overflow(n / dtype->block_elements, dtype->block_bytes, bytes);
}

void al_dtype_exact_bytes(const struct al_dtype *dtype, mpq_srcptr elements, mpq_t out)
{
	mpq_set(out, elements);
	al_exact_multiply(out, (int64_t)dtype->block_bytes);
	al_exact_divide(out, (int64_t)dtype->block_elements);
}
