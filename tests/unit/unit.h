/* What every unit test includes: cmocka and what it asks for first. */
#ifndef ATTNLEDGER_TESTS_UNIT_H
#define ATTNLEDGER_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka 2 splits assert_in_range by the sign of its numbers. */
#ifndef assert_uint_in_range
#define assert_uint_in_range assert_in_range
#endif

/* Leaves a test out where a file isn't here. (cmocka's skip() prints "not ok # SKIP", which readers
 * of TAP take for a failure.) */
#define LEAVE_OUT(file) \
	do { \
		print_message("# %s is not here: left out\n", file); \
		return; \
	} while (0)

#endif
