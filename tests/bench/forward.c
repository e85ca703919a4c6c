/* A forward pass of 8 x 512 tokens through layers of BERT base's size (768 wide, 12 heads, 3072),
 * as a share of the rate that OpenBLAS's single-precision product of its largest size has in the
 * same run, and what recording statistics adds: bench-forward [LAYERS]. All in seconds of the
 * processor, so that other programs beside it count little, with threads that don't spin while they
 * wait; each rate is the best of REPEATS. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "bench.h"
#include "model/calibration/calibration.h"
#include "model/forward/evaluate.h"
#include "support/folder.h"
#include "support/weights.h"

enum { WIDE = 768, INNER = 3072, HEADS = 12, VOCAB = 64, SEQUENCES = 8, LENGTH = 512, REPEATS = 3 };
enum { TOKENS = SEQUENCES * LENGTH, MOST_WEIGHTS = 512 };

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the model ---- */

static struct weight weights[MOST_WEIGHTS];
static char names[MOST_WEIGHTS][96];
static size_t n_weights;

static void add(const char *name, int64_t rows, int64_t cols)
{
	snprintf(names[n_weights], sizeof(names[0]), "%s", name);
	weights[n_weights] = (struct weight){.name = names[n_weights],
		.dtype = "F32",
		.shape = {rows, cols},
		.n_dims = cols ? 2 : 1};
	n_weights++;
}

static void add_linear(int layer, const char *name, int64_t rows, int64_t cols)
{
	char full[96];

	snprintf(full, sizeof(full), "encoder.layer.%d.%s.weight", layer, name);
	add(full, rows, cols);
	snprintf(full, sizeof(full), "encoder.layer.%d.%s.bias", layer, name);
	add(full, rows, 0);
}

static void add_layer(int layer)
{
	add_linear(layer, "attention.self.query", WIDE, WIDE);
	add_linear(layer, "attention.self.key", WIDE, WIDE);
	add_linear(layer, "attention.self.value", WIDE, WIDE);
	add_linear(layer, "attention.output.dense", WIDE, WIDE);
	add_linear(layer, "attention.output.LayerNorm", WIDE, 0);
	add_linear(layer, "intermediate.dense", INNER, WIDE);
	add_linear(layer, "output.dense", WIDE, INNER);
	add_linear(layer, "output.LayerNorm", WIDE, 0);
}

static void write_model(const struct test_folder *folder, int layers)
{
	char path[256], config[512];

	add("embeddings.word_embeddings.weight", VOCAB, WIDE);
	add("embeddings.position_embeddings.weight", LENGTH, WIDE);
	add("embeddings.token_type_embeddings.weight", 2, WIDE);
	add("embeddings.LayerNorm.weight", WIDE, 0);
	add("embeddings.LayerNorm.bias", WIDE, 0);
	for (int i = 0; i < layers; i++)
		add_layer(i);
	write_weights(test_path(path, folder, "model.safetensors"), weights, n_weights);
	snprintf(config, sizeof(config),
		"{\"model_type\": \"bert\", \"architectures\": [\"BertModel\"], \"hidden_size\": "
		"%d, "
		"\"num_hidden_layers\": %d, \"num_attention_heads\": %d, \"intermediate_size\": "
		"%d, "
		"\"vocab_size\": %d, \"max_position_embeddings\": %d}",
		WIDE, layers, HEADS, INNER, VOCAB, LENGTH);
	test_write(test_path(path, folder, "config.json"), config, strlen(config));
}

/* Multiply-adds of a layer, twice: products with weights, and of queries and keys with values. */
static double layer_operations(void)
{
	return 2.0 * TOKENS * (4.0 * WIDE * WIDE + 2.0 * WIDE * INNER)
		+ 4.0 * TOKENS * LENGTH * WIDE;
}

/* ---- both sides ---- */

/* OpenBLAS's own, in one call on one thread. */
static double sgemm_rate(void)
{
	struct al_matrix_f a, b, c;
	struct al_error err;
	double best = 0;

	bench_require(al_matrix_init_f(&a, WIDE, INNER, &err)
			&& al_matrix_init_f(&b, WIDE, TOKENS, &err)
			&& al_matrix_init_f(&c, INNER, TOKENS, &err),
		&err);
	for (int i = 0; i < REPEATS; i++) {
		const double begin = cpu_seconds();
		cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, INNER, TOKENS, WIDE, 1, a.data,
			WIDE, b.data, WIDE, 0, c.data, INNER);
		const double rate = 2.0 * WIDE * INNER * TOKENS / (cpu_seconds() - begin);
		best = rate > best ? rate : best;
	}
	al_matrix_finish_f(&a);
	al_matrix_finish_f(&b);
	al_matrix_finish_f(&c);
	return best;
}

static void pass(struct al_network *network, const struct al_batch *batch)
{
	struct al_matrix embeddings;
	struct al_error err;

	bench_require(al_evaluate_embeddings(network, batch, NULL, &embeddings, &err), &err);
	al_matrix_finish(&embeddings);
}

static bool take(void *context, const struct al_module_statistics *module, struct al_error *err)
{
	(void)context;
	(void)module;
	(void)err;
	return true;
}

static void record(struct al_network *network, const struct al_batch *batch)
{
	const struct al_statistics_taker taker = {.take = take};
	struct al_calibration calibration;
	struct al_error err;

	bench_require(al_calibration_begin(&calibration, network, batch, 0, &err)
			&& al_calibration_record(&calibration, network, batch, &taker, NULL, NULL,
				&err),
		&err);
	al_calibration_finish(&calibration);
}

static double seconds_of(void (*run)(struct al_network *network, const struct al_batch *batch),
	struct al_network *network)
{
	static int32_t tokens[TOKENS];
	size_t begin[SEQUENCES + 1];
	double best = 0;

	for (int i = 0; i < TOKENS; i++)
		tokens[i] = i * 7 % VOCAB;
	for (size_t i = 0; i <= SEQUENCES; i++)
		begin[i] = i * LENGTH;
	const struct al_batch batch = {tokens, begin, SEQUENCES, 0};
	for (int i = 0; i < REPEATS; i++) {
		const double from = cpu_seconds();
		run(network, &batch);
		const double seconds = cpu_seconds() - from;
		best = i == 0 || seconds < best ? seconds : best;
	}
	return best;
}

static void compare(struct al_network *network, int layers, int threads)
{
	al_threads_set(threads);
	const double limit = sgemm_rate(), plain = seconds_of(pass, network),
		     rate = layers * layer_operations() / plain,
		     recorded = seconds_of(record, network);

	printf("%d layers of BERT base, 8 x 512 tokens, threads %d\n", layers, threads);
	bench_report("  sgemm, of a core", limit / 1e9, "GF/s");
	bench_report("  forward pass, of a core", rate / 1e9, "GF/s");
	bench_report_least("  forward pass by sgemm", rate / limit, "x", 0.75);
	bench_report_most("  forward pass with statistics by without", recorded / plain, "x", 1.25);
}

int main(int argc, char **argv)
{
	const int layers = argc > 1 ? atoi(argv[1]) : 2;
	struct al_catalog *catalog = al_catalog_create();
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_network network;
	struct test_folder folder;
	struct al_error err;

	openblas_set_num_threads(1);
	test_folder_make(&folder);
	write_model(&folder, layers);
	bench_require(al_checkpoint_open(&checkpoint, folder.path, &err), &err);
	bench_require(al_model_view_open(&view, catalog, &checkpoint, &(struct al_view_options){0},
			      &err),
		&err);
	bench_require(al_network_open(&network, &view, &err), &err);
	for (int threads = 1; threads <= 2; threads++)
		compare(&network, layers, threads);
	al_network_close(&network);
	al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
	test_folder_remove(&folder);
	al_catalog_destroy(catalog);
	return EXIT_SUCCESS;
}
