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

#endif
