/* The lesser and the greater of two numbers of any type, and their order, as numbers of the type of
 * a + b. Each argument is evaluated once. */
#pragma once

/* The second of two that are equal, as 0 and -0 are, and where one isn't a number (NaN). */
#define al_least(a, b) AL_OF_TWO(al_least, a, b)
#define al_most(a, b) AL_OF_TWO(al_most, a, b)

/* -1, 0, 1: a < b, neither, a > b. */
#define al_compare(a, b) AL_OF_TWO(al_compare, a, b)

/* clang-format off */
#define AL_OF_TWO(verb, a, b) \
	_Generic((a) + (b), \
		int: verb##_int, \
		unsigned: verb##_unsigned, \
		long: verb##_long, \
		unsigned long: verb##_unsigned_long, \
		long long: verb##_long_long, \
		unsigned long long: verb##_unsigned_long_long, \
		float: verb##_float, \
		double: verb##_double)(a, b)
/* clang-format on */

#define AL_ORDER(name, type) \
	static inline type al_least_##name(type a, type b) \
	{ \
		return a < b ? a : b; \
	} \
\
	static inline type al_most_##name(type a, type b) \
	{ \
		return a > b ? a : b; \
	} \
\
	static inline int al_compare_##name(type a, type b) \
	{ \
		return (a > b) - (a < b); \
	}

AL_ORDER(int, int)
AL_ORDER(unsigned, unsigned)
AL_ORDER(long, long)
AL_ORDER(unsigned_long, unsigned long)
AL_ORDER(long_long, long long)
AL_ORDER(unsigned_long_long, unsigned long long)
AL_ORDER(float, float)
AL_ORDER(double, double)
#undef AL_ORDER
