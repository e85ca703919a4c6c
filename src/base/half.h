/* Numbers of 16 bits and fewer, by their bits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float al_float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t al_bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* `yes` where the condition holds. With masks, since compilers turn only loops without branches
 * into vectors, and these conversions have to keep up with memory. */
static inline uint32_t al_choose_bits(bool condition, uint32_t yes, uint32_t no)
{
	uint32_t mask = -(uint32_t)condition;

	return (yes & mask) | (no & ~mask);
}

/* IEEE 754 binary16. The exponent grows by the difference of the formats' biases; by as much again
 * where it is all ones. A subnormal's fraction is put after the leading one of 2^-14, which is then
 * taken off. */
static inline float al_f16_value(uint16_t stored)
{
	uint32_t sign = (uint32_t)(stored & 0x8000) << 16;
	int32_t magnitude = (stored & 0x7FFF) << 13; /* signed: SSE2 compares no others */
	uint32_t is_subnormal = -(uint32_t)(magnitude < INT32_C(1) << 23);
	uint32_t is_special = -(uint32_t)(magnitude >= INT32_C(31) << 23);
	uint32_t bits = (uint32_t)magnitude + (UINT32_C(112) << 23)
		+ (is_subnormal & UINT32_C(1) << 23) + (is_special & UINT32_C(112) << 23);
	float one = al_float_of_bits(is_subnormal & UINT32_C(113) << 23);

	return al_float_of_bits(sign | al_bits_of_float(al_float_of_bits(bits) - one));
}

/* Rounded to the nearest, ties to even; what is too large becomes infinite (format.c). */
uint16_t al_f16_of(double value);
