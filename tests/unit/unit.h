/* What every unit test includes: cmocka and what it asks for first. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka's own differ between its versions 1 and 2, and convert signs in 2. */
#define assert_between(value, low, high) \
	do { \
		const long long value_ = (long long)(value), low_ = (long long)(low), \
				high_ = (long long)(high); \
		if (value_ < low_ || value_ > high_) \
			fail_msg("%lld, expected %lld to %lld", value_, low_, high_); \
	} while (0)

/* The folder of fixtures, files that others wrote, or NULL. */
static inline const char *fixtures(void)
{
	const char *folder = getenv("ATTNLEDGER_FIXTURES");

	return folder && *folder ? folder : NULL;
}

static inline void leave_out(void **state)
{
	(void)state;
}

/* A row of the table of tests: skipped where `condition` is false, with the reason in its name, as
 * TAP has it. (cmocka's skip() prints "not ok # SKIP", which readers of TAP take for a failure.) */
#define UNIT_TEST_WHERE(condition, test, reason) \
	{ \
		(condition) ? #test : #test " # SKIP " reason, (condition) ? (test) : leave_out, \
			NULL, NULL, NULL \
	}

#define UNIT_TEST_OF_FIXTURES(test) \
	UNIT_TEST_WHERE(fixtures(), test, "ATTNLEDGER_FIXTURES names no folder")
