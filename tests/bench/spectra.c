/* Times of linear algebra and spectra on random weights in memory: bench-spectra [DENSE_SECONDS].
 *
 * DENSE_SECONDS is what the obvious script takes for one module's heads (run-spectra measures it
 * with numpy). Medians; nothing passes or fails by the clock. */
#include <stdio.h>
#include <stdlib.h>

#include "audit/nulls.h"
#include "base/random.h"
#include "bench.h"

enum { RUNS = 7, LAYERS = 12 };

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
		bench_require(al_matrix_init(&m->of[p], rows, n_heads * width, &err), &err);
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

	bench_require(al_triangles_take(&t, &m->factors, false, &err)
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

	bench_require(al_triangles_take(&t, &m->factors, false, &err)
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

	bench_require(al_triangles_take(&t, &m->factors, false, &err), &err);
	for (uint64_t draw = 0; draw < 4; draw++) {
		bench_require(al_null_independent(&layer, NULL, &t, 0, 0, draw, &err), &err);
		al_spectra_finish(&layer);
	}
	al_triangles_finish(&t);
}

static void take_gaussian(const struct module *m)
{
	struct al_spectra heads, layer;
	struct al_error err;

	bench_require(al_null_gaussian(&heads, &layer, &m->factors, true, false, 0, &err), &err);
	al_spectra_finish(&heads);
	al_spectra_finish(&layer);
}

/* Reports the median time of one function over `n` modules, and returns it. */
static double report_over(const char *what, const struct module *modules, size_t n,
	void (*f)(const struct module *m), double goal)
{
	double seconds[RUNS];
	struct flops before = {0}, after = {0};

	for (size_t run = 0; run < RUNS; run++) {
		before = flops_counted();
		const double begin = bench_now();
		for (size_t i = 0; i < n; i++)
			f(&modules[i]);
		seconds[run] = bench_now() - begin;
		after = flops_counted();
	}
	const double median = bench_median(seconds, RUNS);
	bench_report_work(what, median, flops_between(before, after), goal);
	return median;
}

static void report_bert(double dense_s)
{
	struct module modules[LAYERS];

	for (size_t i = 0; i < LAYERS; i++)
		make(&modules[i], 768, 12, 64, i);
	const double heads_s = report_over("BERT-base, 144 heads: qk, ov, q, k", modules, LAYERS,
		take_heads, 0.15);
	if (dense_s > 0) {
		bench_report("  numpy.linalg.svd of the 144 dense products", LAYERS * dense_s, "s",
			0);
		bench_report("  times as fast, of which 100 is the goal",
			LAYERS * dense_s / heads_s, "x", 0);
	}
	report_over("BERT-base, 12 layers: q, k, qk, qu, ku, ov", modules, LAYERS, take_layer, 0);
	report_over("one module, 4 draws of independent heads", modules, 1, take_nulls, 0);
	report_over("one shape, a draw of Gaussian weights", modules, 1, take_gaussian, 0);
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

	make(&head, MODEL, 1, WIDTH, 3);
	struct al_heads shape = head.factors;
	shape.n_heads = shape.n_kv_heads = HEADS;
	shape.query.cols = shape.key.cols = shape.value.cols = shape.output.cols = (size_t)HEADS
		* WIDTH;

	const struct flops before = flops_counted();
	const double begin = bench_now();
	bench_require(al_triangles_init(&t, &shape, true, &err), &err);
	for (size_t i = 0; i < HEADS; i++)
		bench_require(al_triangles_add(&t, &head.factors, i, false, &err), &err);
	bench_require(al_head_spectra(&heads, &t, AL_ALL_SPECTRA, &err), &err);
	bench_report_work("GPT-3 layer, 96 heads of 128 at 12288", bench_now() - begin,
		flops_between(before, flops_counted()), 10);
	bench_report_memory(3);
	al_spectra_finish(&heads);
	al_triangles_finish(&t);
	drop(&head);
}

int main(int argc, char **argv)
{
	bench_report_rates();
	report_bert(argc > 1 ? atof(argv[1]) : 0);
	report_gpt3();
	return 0;
}
