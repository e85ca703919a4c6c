/* GMP's header, by mini-gmp, with what that lacks. */
#pragma once

#include <stdarg.h>

#include "mini-gmp.h"
#include "mini-mpq.h"

#define AL_EACH_NUMBER(name, kind, act) \
	static inline void name(kind first, ...) \
	{ \
		va_list more; \
		va_start(more, first); \
		for (kind number = first; number; number = va_arg(more, kind)) \
			act(number); \
		va_end(more); \
	}
AL_EACH_NUMBER(mpz_inits, mpz_ptr, mpz_init)
AL_EACH_NUMBER(mpz_clears, mpz_ptr, mpz_clear)
AL_EACH_NUMBER(mpq_inits, mpq_ptr, mpq_init)
AL_EACH_NUMBER(mpq_clears, mpq_ptr, mpq_clear)
#undef AL_EACH_NUMBER
