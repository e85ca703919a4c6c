/* Numbers of 16 bits and fewer, by their bits. */
#ifndef ATTNLEDGER_BASE_HALF_H
#define ATTNLEDGER_BASE_HALF_H

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

/* IEEE 754 binary16. A subnormal's fraction is put after the leading one of 2^-14, which is then
 * taken off. */
static inline float al_f16_value(uint16_t stored)
{
	uint32_t sign = (uint32_t)(stored & 0x8000) << 16;
	uint32_t magnitude = (uint32_t)(stored & 0x7FFF) << 13;
	uint32_t normal = magnitude + (UINT32_C(112) << 23);
	uint32_t special = magnitude | UINT32_C(0x7F800000);
	uint32_t subnormal = al_bits_of_float(
		al_float_of_bits(magnitude + (UINT32_C(113) << 23)) - 0x1p-14F);
	uint32_t finite = al_choose_bits(magnitude < UINT32_C(1) << 23, subnormal, normal);

	return al_float_of_bits(
		sign | al_choose_bits(magnitude >= UINT32_C(31) << 23, special, finite));
}

#endif
