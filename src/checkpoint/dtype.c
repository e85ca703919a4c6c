/* Number formats of stored tensors: one row each.
 *
 * F16 and BF16 are IEEE 754 binary16 and the upper half of binary32. F8_E5M2 is the upper half of
 * binary16; F8_E4M3 has no infinities, and only S.1111.111 is NaN (Micikevicius et al. 2022,
 * arXiv:2209.05433). */
#include "checkpoint/dtype.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stored numbers are copied as they are");
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8, "IEEE 754 binary32 and binary64");

/* ---- one element ---- */

static inline float float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float bf16_value(uint16_t stored)
{
	return float_of_bits((uint32_t)stored << 16);
}

/* `yes` where the condition holds. With masks, since compilers turn only loops without branches
 * into vectors, and these conversions have to keep up with memory. */
static inline uint32_t choose(bool condition, uint32_t yes, uint32_t no)
{
	uint32_t mask = -(uint32_t)condition;

	return (yes & mask) | (no & ~mask);
}

/* A subnormal's fraction is put behind the leading one of 2^-14, which is then taken off. */
static inline float f16_value(uint16_t stored)
{
	uint32_t sign = (uint32_t)(stored & 0x8000) << 16;
	uint32_t magnitude = (uint32_t)(stored & 0x7FFF) << 13;
	uint32_t normal = magnitude + (UINT32_C(112) << 23);
	uint32_t special = magnitude | UINT32_C(0x7F800000);
	uint32_t subnormal = bits_of_float(
		float_of_bits(magnitude + (UINT32_C(113) << 23)) - 0x1p-14F);
	uint32_t finite = choose(magnitude < UINT32_C(1) << 23, subnormal, normal);

	return float_of_bits(sign | choose(magnitude >= UINT32_C(31) << 23, special, finite));
}

static inline float f8_e5m2_value(uint8_t stored)
{
	return f16_value((uint16_t)(stored << 8));
}

static inline float f8_e4m3_value(uint8_t stored)
{
	uint32_t sign = (uint32_t)(stored & 0x80) << 24;
	uint32_t magnitude = stored & 0x7F;
	uint32_t normal = (magnitude << 20) + (UINT32_C(120) << 23);
	uint32_t subnormal = bits_of_float((float)(int32_t)magnitude * 0x1p-9F);
	uint32_t finite = choose(magnitude < 8, subnormal, normal);

	return float_of_bits(sign | choose(magnitude == 0x7F, UINT32_C(0x7FC00000), finite));
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
	static void name##_to_##type(const unsigned char *bytes, size_t n, type *out) \
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
CONVERT(f16, uint16_t, f16_value)
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
	int unit = exponent - digits > lowest ? exponent - digits : lowest;
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
		uint32_t bits = bits_of_float((float)round_to(values[i], 8, -133));
		uint16_t stored = (uint16_t)(bits >> 16);
		if (isnan(values[i]))
			stored |= 0x40; /* its payload may be in the half that goes */
		memcpy(bytes + 2 * i, &stored, sizeof(stored));
	}
}

static uint16_t f16_of(double value)
{
	double rounded = fabs(round_to(value, 11, -24));
	uint16_t sign = signbit(value) ? 0x8000 : 0;

	if (isnan(value))
		return (uint16_t)(sign | 0x7E00);
	if (rounded > 65504)
		return (uint16_t)(sign | 0x7C00);
	if (rounded < 0x1p-14)
		return (uint16_t)(sign | (uint16_t)(rounded * 0x1p24));
	return (uint16_t)(sign | ((bits_of_float((float)rounded) - (UINT32_C(112) << 23)) >> 13));
}

static void f16_from_double(const double *values, size_t n, unsigned char *bytes)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t stored = f16_of(values[i]);
		memcpy(bytes + 2 * i, &stored, sizeof(stored));
	}
}

/* ---- the list ---- */

#define CONVERTED(name) .to_double = name##_to_double, .to_float = name##_to_float
#define WRITTEN(name) CONVERTED(name), .from_double = name##_from_double

static const struct al_dtype dtypes[] = {
	{"F64", 1, 8, 0x1p-52, WRITTEN(f64)},
	{"F32", 1, 4, 0x1p-23, WRITTEN(f32)},
	{"F16", 1, 2, 0x1p-10, WRITTEN(f16)},
	{"BF16", 1, 2, 0x1p-7, WRITTEN(bf16)},
	{"F8_E5M2", 1, 1, 0x1p-2, CONVERTED(f8_e5m2)},
	{"F8_E4M3", 1, 1, 0x1p-3, CONVERTED(f8_e4m3)},
	{"I64", 1, 8, 0, CONVERTED(i64)},
	{"I32", 1, 4, 0, CONVERTED(i32)},
	{"I16", 1, 2, 0, CONVERTED(i16)},
	{"I8", 1, 1, 0, CONVERTED(i8)},
	{"U64", 1, 8, 0, CONVERTED(u64)},
	{"U32", 1, 4, 0, CONVERTED(u32)},
	{"U16", 1, 2, 0, CONVERTED(u16)},
	{"U8", 1, 1, 0, CONVERTED(u8)},
	{"BOOL", 1, 1, 0, CONVERTED(boolean)},
	{.name = "F8_E8M0", .block_elements = 1, .block_bytes = 1},
	{.name = "F6_E2M3", .block_elements = 4, .block_bytes = 3},
	{.name = "F6_E3M2", .block_elements = 4, .block_bytes = 3},
	{.name = "F4", .block_elements = 2, .block_bytes = 1},
	{.name = "C64", .block_elements = 1, .block_bytes = 8},
};
enum { N_DTYPES = sizeof(dtypes) / sizeof(*dtypes) };

const struct al_dtype *al_dtype_at(size_t i)
{
	return i < N_DTYPES ? &dtypes[i] : NULL;
}

const struct al_dtype *al_dtype_find(const char *name)
{
	for (size_t i = 0; i < N_DTYPES; i++)
		if (strcmp(dtypes[i].name, name) == 0)
			return &dtypes[i];
	return NULL;
}

bool al_dtype_size(const struct al_dtype *dtype, int64_t n_elements, uint64_t *bytes)
{
	uint64_t n = (uint64_t)n_elements;

	return n % dtype->block_elements == 0
		&& !__builtin_mul_overflow(n / dtype->block_elements, dtype->block_bytes, bytes);
}
