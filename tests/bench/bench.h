/* What the benches share: a clock, medians, lines of figures, and the rate of a product. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Seconds of a clock that never goes back. */
double bench_now(void);

/* Ends the program with the error's message unless `done`. */
void bench_require(bool done, const struct al_error *err);

/* Sorts the values. */
double bench_median(double *values, size_t n);

/* A line: WHAT VALUE UNIT. */
void bench_report(const char *what, double value, const char *unit);

/* The same, with a goal; the line ends in "met" or "missed". */
void bench_report_most(const char *what, double value, const char *unit, double goal);
void bench_report_least(const char *what, double value, const char *unit, double goal);

/* Peak memory of this process, in GiB. */
void bench_report_memory(double goal);

/* The library's version and kernel, and the rates of products of 1536 x 1536 matrices in both
 * precisions on one thread and on all: the machine's own limit. */
void bench_report_rates(void);
