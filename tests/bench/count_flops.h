/* Floating-point operations of BLAS and LAPACK calls so far, in each precision. */
#ifndef ATTNLEDGER_BENCH_COUNT_FLOPS_H
#define ATTNLEDGER_BENCH_COUNT_FLOPS_H

struct flops {
	double in_double, in_single;
};

struct flops flops_counted(void);

struct flops flops_between(struct flops before, struct flops after);

#endif
