/* Decompositions of a layer's heads beside the machine's sgemm rate: bench-tensors [large]
 * [SECONDS...].
 *
 * SECONDS are numpy's, where there is one: of a sweep of CP-ALS and of HOSVD, both structured.
 * Medians. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench.h"
#include "linalg/cp.h"
#include "linalg/tucker.h"

static struct al_matrix_f gaussian(size_t rows, size_t cols, uint64_t seed)
{
	struct al_random *random = al_random_create(seed, 0, 0, 0);
	struct al_matrix_f m;
	struct al_error err;

	bench_require(al_matrix_init_f(&m, rows, cols, &err), &err);
	al_random_gaussian_f(random, m.data, rows * cols);
	al_random_destroy(random);
	return m;
}

/* ---- a layer near a shared space with a spectrum of k^-0.6 ---- */

static struct al_matrix_f projection(size_t d_model, size_t shared, uint64_t seed)
{
	struct al_matrix_f basis = gaussian(d_model, shared, seed),
			   inner = gaussian(shared, d_model, seed + 1);
	struct al_matrix_f out = gaussian(d_model, d_model, seed + 2);
	struct al_error err;

	for (size_t k = 0; k < shared; k++) {
		const float scale = powf((float)k + 1, -0.6f);
		for (size_t i = 0; i < d_model; i++)
			basis.data[i + k * basis.ld] *= scale;
	}
	bench_require(al_gemm_f(AL_PLAIN, AL_PLAIN, 1, al_view_f(basis), al_view_f(inner), 0.05f,
			      out, &err),
		&err);
	al_matrix_finish_f(&inner);
	al_matrix_finish_f(&basis);
	return out;
}

/* ---- sweeps and products, in alternation ---- */

enum { SWEEPS = 20, MOST_SWEEPS = 32 };

struct alternation {
	struct al_matrix_f a, b, c;
	double begin;
	double sweeps[MOST_SWEEPS], rates[MOST_SWEEPS];
	size_t n;
};

/* After a sweep: how long it took, then one product. The first sweep's beginning isn't known. */
static bool alternate(void *context, size_t n_sweeps, double error)
{
	struct alternation *x = context;
	const double n = (double)x->a.rows, end = bench_now();
	struct al_error err;

	(void)error;
	if (n_sweeps > 1)
		x->sweeps[x->n] = end - x->begin;
	const double begin = bench_now();
	bench_require(al_gemm_f(AL_PLAIN, AL_PLAIN, 1, al_view_f(x->a), al_view_f(x->b), 0, x->c,
			      &err),
		&err);
	if (n_sweeps > 1)
		x->rates[x->n++] = 2 * n * n * n / (bench_now() - begin);
	x->begin = bench_now();
	return true;
}

/* Median seconds of a sweep. */
static double report_sweeps(const struct al_heads *heads, size_t rank, size_t n_sweeps,
	size_t product, double goal)
{
	struct alternation x = {.a = gaussian(product, product, 7),
		.b = gaussian(product, product, 8),
		.c = gaussian(product, product, 9)};
	const struct al_cp_options options = {.rank = rank,
		.n_sweeps = n_sweeps + 1,
		.seed = 1,
		.start = AL_CP_RANDOM,
		.watch = alternate,
		.context = &x};
	struct al_cp cp;
	struct al_error err;

	bench_require(al_cp(heads, &options, &cp, &err), &err);
	const double sweep = bench_median(x.sweeps, x.n), rate = bench_median(x.rates, x.n);
	bench_report("sgemm, all threads", rate / 1e9, "GF/s");
	bench_report("  a sweep", sweep, "s");
	bench_report_least("  CP-ALS, a sweep: its share of the sgemm rate",
		100 * al_cp_sweep_flops(heads, rank) / sweep / rate, "%", goal);
	al_cp_finish(&cp);
	al_matrix_finish_f(&x.c);
	al_matrix_finish_f(&x.b);
	al_matrix_finish_f(&x.a);
	return sweep;
}

static double time_tucker(const struct al_heads *heads, size_t rank, struct al_tucker *t)
{
	const struct al_tucker_options options = {.query_rank = rank, .key_rank = rank};
	struct al_error err;
	const double begin = bench_now();

	bench_require(al_tucker(heads, &options, t, &err), &err);
	return bench_now() - begin;
}

static void report_bert(const double *numpy)
{
	enum { RUNS = 7 };
	struct al_matrix_f query = projection(768, 256, 1), key = projection(768, 256, 4);
	const struct al_heads heads = {.query_f = al_view_f(query),
		.key_f = al_view_f(key),
		.n_heads = 12,
		.n_kv_heads = 12,
		.d_head = 64};
	double seconds[RUNS];
	struct al_tucker t;

	puts("BERT-base layer, R = 256");
	const double sweep = report_sweeps(&heads, 256, SWEEPS, 1536, 60);
	for (size_t i = 0; i < RUNS; i++) {
		seconds[i] = time_tucker(&heads, 256, &t);
		al_tucker_finish(&t);
	}
	const double hosvd = bench_median(seconds, RUNS);
	bench_report("  HOSVD (256, 256), its residual included", hosvd, "s");
	if (numpy) {
		bench_report("  numpy: a sweep", numpy[0], "s");
		bench_report_least("  CP-ALS, a sweep: numpy's time by ours", numpy[0] / sweep, "x",
			1);
		bench_report("  numpy: HOSVD and its residual", numpy[1], "s");
		bench_report_least("  HOSVD: numpy's time by ours", numpy[1] / hosvd, "x", 1);
	}
	al_matrix_finish_f(&key);
	al_matrix_finish_f(&query);
}

static void report_gpt3(void)
{
	struct al_matrix_f query = projection(12288, 1024, 1), key = projection(12288, 1024, 4);
	const struct al_heads heads = {.query_f = al_view_f(query),
		.key_f = al_view_f(key),
		.n_heads = 96,
		.n_kv_heads = 96,
		.d_head = 128};
	struct al_tucker t;

	puts("GPT-3 layer, 96 heads of 128 at 12288");
	const double seconds = time_tucker(&heads, 1024, &t);
	bench_report_most("  Tucker (1024, 1024), its residual included", seconds, "s", 30);
	printf("  error %.5f%s, core %.5f, finder's last change %.2g\n", t.relative_error,
		t.is_estimate ? " (estimated)" : "", t.core_error, t.finder_change);
	al_tucker_finish(&t);
	bench_report_memory(2);
	report_sweeps(&heads, 1024, 2, 4096, 75);
	bench_report_memory(4);
	al_matrix_finish_f(&key);
	al_matrix_finish_f(&query);
}

int main(int argc, char **argv)
{
	double numpy[2];

	bench_report_rates();
	if (argc > 1 && !strcmp(argv[1], "large")) {
		report_gpt3();
		return 0;
	}
	for (int i = 0; argc == 3 && i < 2; i++)
		numpy[i] = atof(argv[i + 1]);
	report_bert(argc == 3 ? numpy : NULL);
	return 0;
}
