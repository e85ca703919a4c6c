#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/random.h"
#include "linalg/kernel.h"
#include "linalg/linalg.h"

enum { RUNS = 7, SIZE = 1536 };

double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void bench_require(bool done, const struct al_error *err)
{
	if (done)
		return;
	fprintf(stderr, "bench: %s\n", err->message);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

static void print_figure(const char *what, double value, const char *unit)
{
	printf("%-52s %9.3f %-5s", what, value, unit);
}

static void end_line(void)
{
	putchar('\n');
	fflush(stdout);
}

static void end_goal(const char *relation, double goal, bool is_met)
{
	printf("  goal: %s %g, %s", relation, goal, is_met ? "met" : "missed");
	end_line();
}

void bench_report(const char *what, double value, const char *unit)
{
	print_figure(what, value, unit);
	end_line();
}

void bench_report_most(const char *what, double value, const char *unit, double goal)
{
	print_figure(what, value, unit);
	end_goal("at most", goal, value <= goal);
}

void bench_report_least(const char *what, double value, const char *unit, double goal)
{
	print_figure(what, value, unit);
	end_goal("at least", goal, value >= goal);
}

void bench_report_memory(double goal)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	bench_report_most("  peak memory of bench-tensors", (double)usage.ru_maxrss / (1 << 20),
		"GiB", goal);
}

/* ---- rates ---- */

struct operands {
	struct al_matrix a, b, c;
	struct al_matrix_f a_f, b_f, c_f;
};

static bool multiply(const struct operands *x, struct al_error *err)
{
	return al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(x->a), al_view(x->b), 0, x->c, err);
}

static bool multiply_f(const struct operands *x, struct al_error *err)
{
	return al_gemm_f(AL_PLAIN, AL_PLAIN, 1, al_view_f(x->a_f), al_view_f(x->b_f), 0, x->c_f,
		err);
}

static void make_operands(struct operands *x)
{
	struct al_error err;
	struct al_random *random = al_random_create(1, 0, 0, 0);

	bench_require(al_matrix_init(&x->a, SIZE, SIZE, &err)
			&& al_matrix_init(&x->b, SIZE, SIZE, &err)
			&& al_matrix_init(&x->c, SIZE, SIZE, &err)
			&& al_matrix_init_f(&x->a_f, SIZE, SIZE, &err)
			&& al_matrix_init_f(&x->b_f, SIZE, SIZE, &err)
			&& al_matrix_init_f(&x->c_f, SIZE, SIZE, &err),
		&err);
	al_random_gaussian(random, x->a.data, (size_t)SIZE * SIZE);
	al_random_gaussian(random, x->b.data, (size_t)SIZE * SIZE);
	bench_require(al_narrow(al_view(x->a), x->a_f, &err)
			&& al_narrow(al_view(x->b), x->b_f, &err),
		&err);
	al_random_destroy(random);
}

static void drop_operands(struct operands *x)
{
	al_matrix_finish(&x->a);
	al_matrix_finish(&x->b);
	al_matrix_finish(&x->c);
	al_matrix_finish_f(&x->a_f);
	al_matrix_finish_f(&x->b_f);
	al_matrix_finish_f(&x->c_f);
}

static double rate(bool (*product)(const struct operands *x, struct al_error *err), int n_threads)
{
	struct operands x;
	double seconds[RUNS];
	struct al_error err;

	make_operands(&x);
	al_threads_set(n_threads);
	for (size_t i = 0; i < RUNS; i++) {
		const double begin = bench_now();
		bench_require(product(&x, &err), &err);
		seconds[i] = bench_now() - begin;
	}
	al_threads_set(0);
	drop_operands(&x);
	return 2.0 * SIZE * SIZE * SIZE / bench_median(seconds, RUNS);
}

void bench_report_rates(void)
{
	char version[16];

	printf("OpenBLAS %s, kernel %s\n", al_blas_version(version), al_blas_kernel());
	bench_report("dgemm, one thread", rate(multiply, 1) / 1e9, "GF/s");
	bench_report("dgemm, all threads", rate(multiply, 0) / 1e9, "GF/s");
	bench_report("sgemm, one thread", rate(multiply_f, 1) / 1e9, "GF/s");
	bench_report("sgemm, all threads", rate(multiply_f, 0) / 1e9, "GF/s");
}
