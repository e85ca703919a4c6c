/* What the benches share: a clock, medians, lines of figures, and the rate of a product, the
 * machine's own limit, beside which a figure is read. */
#ifndef ATTNLEDGER_BENCH_BENCH_H
#define ATTNLEDGER_BENCH_BENCH_H

#include "base/error.h"
#include "count_flops.h"

#include <stddef.h>

/* Seconds of a clock that never goes back. */
double bench_now(void);

/* Ends the program with the error's message unless `done`. */
void bench_require(bool done, const struct al_error *err);

/* Sorts the values. */
double bench_median(double *values, size_t n);

/* "WHAT VALUE UNIT", and beside it the goal (none: 0) and the value as a part of it. */
void bench_report(const char *what, double value, const char *unit, double goal);

/* Peak memory of this process, in GiB. */
void bench_report_memory(double goal);

/* Rates of products of 1536 x 1536 matrices on all threads, in operations a second; measured
 * when first asked for. */
struct bench_rates {
	double dgemm, sgemm;
};

struct bench_rates bench_rates(void);

/* The library's version and kernel, and products in both precisions on one thread and on all. */
void bench_report_rates(void);

/* Seconds that the same number of operations would take as products. */
double bench_as_products(struct flops flops);

/* As bench_report, in seconds; then the share of it that its operations would take as products. */
void bench_report_work(const char *what, double seconds, struct flops flops, double goal);

#endif
