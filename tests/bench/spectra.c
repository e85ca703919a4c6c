/* Times of linear algebra and spectra on random weights in memory: bench-spectra [DENSE_SECONDS].
 *
 * DENSE_SECONDS is what the obvious script takes for one module's heads (run-spectra measures it
 * with numpy). Medians; nothing passes or fails by the clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "audit/nulls.h"
#include "base/random.h"
#include "linalg/kernel.h"

enum { RUNS = 7, LAYERS = 12 };

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void require(bool done, const struct al_error *err)
{
	if (done)
		return;
	fprintf(stderr, "bench-spectra: %s\n", err->message);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *seconds, size_t n)
{
	qsort(seconds, n, sizeof(*seconds), compare);
	return seconds[n / 2];
}

static void report(const char *what, double value, const char *unit, double goal)
{
	printf("%-48s %8.2f %-4s", what, value, unit);
	if (goal > 0)
		printf("  goal %6.2f %-4s  %5.2f of it", goal, unit, value / goal);
	putchar('\n');
}

/* ---- the machine ---- */

struct product {
	struct al_matrix a, b, c;
	struct al_matrix_f a_f, b_f, c_f;
};

static void multiply(const struct product *x, struct al_error *err)
{
	require(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(x->a), al_view(x->b), 0, x->c, err), err);
}

static void multiply_f(const struct product *x, struct al_error *err)
{
	require(al_gemm_f(AL_PLAIN, AL_PLAIN, 1, al_view_f(x->a_f), al_view_f(x->b_f), 0, x->c_f,
			err),
		err);
}

static void report_rate(const char *what, const struct product *x,
	void (*f)(const struct product *x, struct al_error *err), int n_threads)
{
	const double n = (double)x->a.rows, flops = 2 * n * n * n;
	double seconds[RUNS];
	struct al_error err;

	al_threads_set(n_threads);
	for (size_t i = 0; i < RUNS; i++) {
		const double begin = now_s();
		f(x, &err);
		seconds[i] = now_s() - begin;
	}
	al_threads_set(0);
	report(what, flops / median(seconds, RUNS) / 1e9, "GF/s", 0);
}

static void report_rates(void)
{
	enum { N = 1536 };
	struct product x;
	struct al_error err;
	struct al_random *random = al_random_create(1, 0, 0, 0);

	require(al_matrix_init(&x.a, N, N, &err) && al_matrix_init(&x.b, N, N, &err)
			&& al_matrix_init(&x.c, N, N, &err) && al_matrix_init_f(&x.a_f, N, N, &err)
			&& al_matrix_init_f(&x.b_f, N, N, &err)
			&& al_matrix_init_f(&x.c_f, N, N, &err),
		&err);
	al_random_gaussian(random, x.a.data, N * N);
	al_random_gaussian(random, x.b.data, N * N);
	require(al_narrow(al_view(x.a), x.a_f, &err) && al_narrow(al_view(x.b), x.b_f, &err), &err);
	printf("OpenBLAS kernel %s\n", al_blas_kernel());
	report_rate("dgemm, one thread", &x, multiply, 1);
	report_rate("dgemm, all threads", &x, multiply, 0);
	report_rate("sgemm, one thread", &x, multiply_f, 1);
	report_rate("sgemm, all threads", &x, multiply_f, 0);
	al_matrix_finish(&x.a);
	al_matrix_finish(&x.b);
	al_matrix_finish(&x.c);
	al_matrix_finish_f(&x.a_f);
	al_matrix_finish_f(&x.b_f);
	al_matrix_finish_f(&x.c_f);
	al_random_destroy(random);
}

/* ---- a BERT-base model ---- */

struct module {
	struct al_matrix of[AL_N_PROJECTIONS];
	struct al_heads factors;
};

static void make(struct module *m, size_t rows, size_t n_heads, size_t width, uint64_t seed)
{
	struct al_random *random = al_random_create(seed, 0, 0, 0);
	struct al_error err;

	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		require(al_matrix_init(&m->of[p], rows, n_heads * width, &err), &err);
		al_random_gaussian(random, m->of[p].data, rows * n_heads * width);
	}
	m->factors = (struct al_heads){
		.query = al_view(m->of[AL_QUERY]),
		.key = al_view(m->of[AL_KEY]),
		.value = al_view(m->of[AL_VALUE]),
		.output = al_view(m->of[AL_OUTPUT]),
		.n_heads = n_heads,
		.n_kv_heads = n_heads,
		.d_head = width,
		.d_value = width,
		.unit = 0x1p-24,
	};
	al_random_destroy(random);
}

static void drop(struct module *m)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&m->of[p]);
}

static void take_heads(const struct module *m)
{
	struct al_triangles t;
	struct al_spectra heads;
	struct al_error err;

	require(al_triangles_take(&t, &m->factors, false, &err)
			&& al_head_spectra(&heads, &t, AL_ALL_SPECTRA, &err),
		&err);
	al_spectra_finish(&heads);
	al_triangles_finish(&t);
}

static void take_layer(const struct module *m)
{
	struct al_triangles t;
	struct al_spectra layer;
	struct al_error err;

	require(al_triangles_take(&t, &m->factors, false, &err)
			&& al_layer_spectra(&layer, &m->factors, &t, AL_ALL_SPECTRA, &err),
		&err);
	al_spectra_finish(&layer);
	al_triangles_finish(&t);
}

static void take_nulls(const struct module *m)
{
	struct al_triangles t;
	struct al_spectra layer;
	struct al_error err;

	require(al_triangles_take(&t, &m->factors, false, &err), &err);
	for (uint64_t draw = 0; draw < 4; draw++) {
		require(al_null_independent(&layer, &t, 0, 0, draw, &err), &err);
		al_spectra_finish(&layer);
	}
	al_triangles_finish(&t);
}

static void take_gaussian(const struct module *m)
{
	struct al_spectra heads, layer;
	struct al_error err;

	require(al_null_gaussian(&heads, &layer, &m->factors, true, 0, 0, &err), &err);
	al_spectra_finish(&heads);
	al_spectra_finish(&layer);
}

/* Median seconds of one function over `n` modules. */
static double take(const struct module *modules, size_t n, void (*f)(const struct module *m))
{
	double seconds[RUNS];

	for (size_t run = 0; run < RUNS; run++) {
		const double begin = now_s();
		for (size_t i = 0; i < n; i++)
			f(&modules[i]);
		seconds[run] = now_s() - begin;
	}
	return median(seconds, RUNS);
}

static void report_bert(double dense_s)
{
	struct module modules[LAYERS];

	for (size_t i = 0; i < LAYERS; i++)
		make(&modules[i], 768, 12, 64, i);
	const double heads_s = take(modules, LAYERS, take_heads);
	report("BERT-base, 144 heads: qk, ov, q, k", heads_s, "s", 0.15);
	if (dense_s > 0) {
		report("  numpy.linalg.svd of the 144 dense products", LAYERS * dense_s, "s", 0);
		report("  times as fast, of which 100 is the goal", LAYERS * dense_s / heads_s, "x",
			0);
	}
	report("BERT-base, 12 layers: q, k, qk, qu, ku, ov", take(modules, LAYERS, take_layer), "s",
		0);
	report("one module, 4 draws of independent heads", take(modules, 1, take_nulls), "s", 0);
	report("one shape, a draw of Gaussian weights", take(modules, 1, take_gaussian), "s", 0);
	for (size_t i = 0; i < LAYERS; i++)
		drop(&modules[i]);
}

/* ---- a GPT-3-size layer, a head at a time ---- */

static void report_gpt3(void)
{
	enum { HEADS = 96, MODEL = 12288, WIDTH = 128 };
	struct module head;
	struct al_triangles t;
	struct al_spectra heads;
	struct al_error err;
	struct rusage usage;

	make(&head, MODEL, 1, WIDTH, 3);
	struct al_heads shape = head.factors;
	shape.n_heads = shape.n_kv_heads = HEADS;
	shape.query.cols = shape.key.cols = shape.value.cols = shape.output.cols = (size_t)HEADS
		* WIDTH;

	const double begin = now_s();
	require(al_triangles_init(&t, &shape, true, &err), &err);
	for (size_t i = 0; i < HEADS; i++)
		require(al_triangles_add(&t, &head.factors, i, false, &err), &err);
	require(al_head_spectra(&heads, &t, AL_ALL_SPECTRA, &err), &err);
	report("GPT-3 layer, 96 heads of 128 at 12288", now_s() - begin, "s", 10);
	getrusage(RUSAGE_SELF, &usage);
	report("  peak memory of this process", (double)usage.ru_maxrss / (1 << 20), "GiB", 3);
	al_spectra_finish(&heads);
	al_triangles_finish(&t);
	drop(&head);
}

int main(int argc, char **argv)
{
	report_rates();
	report_bert(argc > 1 ? atof(argv[1]) : 0);
	report_gpt3();
	return 0;
}
