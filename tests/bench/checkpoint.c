/* Opening a checkpoint of 10^5 tensors, and reading one against read(2) of the same bytes.
 * Prints times and ratios, the best of several runs, files warm. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "formats/checkpoint.h"
#include "formats/safetensors.h"

enum { RUNS = 7, MANY_TENSORS = 100000, ROWS = 4096, COLUMNS = 8192 };

static struct al_error err;

static void must(bool ok)
{
	bench_require(ok, &err);
}

static double cpu_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void write_checkpoint(const char *path, const struct al_tensor *tensors, size_t n)
{
	static double values[COLUMNS];
	struct al_tensor_writer *writer;

	for (size_t i = 0; i < COLUMNS; i++)
		values[i] = (double)i / COLUMNS - 0.5;
	must(al_safetensors_create(&writer, path, tensors, n, NULL, 0, &err));
	for (size_t i = 0; i < n; i++)
		for (int64_t left = tensors[i].n_elements; left > 0; left -= COLUMNS)
			must(al_tensor_writer_append_doubles(writer, tensors[i].dtype, values,
				left < COLUMNS ? (size_t)left : COLUMNS, &err));
	must(al_tensor_writer_commit(writer, &err));
}

/* ---- opening ---- */

static void write_many(const char *path)
{
	static const int64_t shape[] = {1, 2};
	static const char *const parts[] = {"self_attn.q_proj", "self_attn.k_proj",
		"self_attn.v_proj", "self_attn.o_proj", "mlp.up_proj"};
	struct al_arena arena;

	al_arena_init(&arena);
	struct al_tensor *tensors = al_new_array(&arena, struct al_tensor, MANY_TENSORS);
	for (int i = 0; i < MANY_TENSORS; i++)
		tensors[i] = (struct al_tensor){.dtype = al_dtype_stored("BF16"),
			.shape = shape,
			.n_dims = 2,
			.n_elements = 2,
			.name = al_format(&arena, "model.layers.%d.%s.weight", i / 5,
				parts[i % 5])};
	write_checkpoint(path, tensors, MANY_TENSORS);
	al_arena_finish(&arena);
}

static void bench_opening(const char *path)
{
	double best = 1e9, best_computing = 1e9;

	write_many(path);
	for (int run = 0; run < RUNS; run++) {
		struct al_checkpoint checkpoint;
		double start = bench_now(), start_computing = cpu_now();
		must(al_checkpoint_open(&checkpoint, path, &err));
		double taken = bench_now() - start;
		double computing = cpu_now() - start_computing;
		best = taken < best ? taken : best;
		best_computing = computing < best_computing ? computing : best_computing;
		if (!al_checkpoint_find(&checkpoint, "model.layers.19999.mlp.up_proj.weight"))
			exit(EXIT_FAILURE);
		al_checkpoint_close(&checkpoint);
	}
	bench_report("open 100,000 tensors", 1e3 * best, "ms");
	bench_report_most("open 100,000 tensors: of computing", 1e3 * best_computing, "ms", 200);
}

/* ---- reading ---- */

static double time_plain(const char *path)
{
	static char block[AL_BLOCK_BYTES];
	double best = 1e9;

	for (int run = 0; run < RUNS; run++) {
		int fd = open(path, O_RDONLY);
		double start = bench_now();
		while (fd >= 0 && read(fd, block, sizeof(block)) > 0)
			;
		double taken = bench_now() - start;
		best = taken < best ? taken : best;
		close(fd);
	}
	return best;
}

static double time_selection(const char *path, const struct al_selection *selection, bool is_double,
	void *out)
{
	struct al_checkpoint checkpoint;
	double best = 1e9;

	must(al_checkpoint_open(&checkpoint, path, &err));
	for (int run = 0; run < RUNS; run++) {
		double start = bench_now();
		if (is_double)
			must(al_tensor_read_double(&checkpoint, checkpoint.tensors, selection, out,
				COLUMNS, &err));
		else
			must(al_tensor_read_float(&checkpoint, checkpoint.tensors, selection, out,
				COLUMNS, &err));
		double taken = bench_now() - start;
		best = taken < best ? taken : best;
	}
	al_checkpoint_close(&checkpoint);
	return best;
}

static void bench_reading(const char *path, const char *dtype, void *out)
{
	static const int64_t shape[] = {ROWS, COLUMNS};
	struct al_tensor tensor = {.name = "weight",
		.dtype = al_dtype_stored(dtype),
		.shape = shape,
		.n_dims = 2,
		.n_elements = ROWS * COLUMNS};
	struct al_selection all = al_select_all(&tensor);
	struct al_selection head = al_select_block(&tensor, 0, ROWS, 1024, 128);

	write_checkpoint(path, &tensor, 1);
	double bytes = (double)tensor.n_elements * (double)tensor.dtype->block_bytes;
	double plain = time_plain(path), floats = time_selection(path, &all, false, out);
	double doubles = time_selection(path, &all, true, out);
	puts(dtype);
	bench_report("  read(2)", 1e-9 * bytes / plain, "GB/s");
	bench_report("  to float", 1e-9 * bytes / floats, "GB/s");
	bench_report("  to double", 1e-9 * bytes / doubles, "GB/s");
	bench_report("  128 of 8192 columns", 1e3 * time_selection(path, &head, false, out), "ms");
}

int main(void)
{
	static const char *const dtypes[] = {"F64", "F32", "F16", "BF16", "F8_E4M3", "I8"};
	char path[] = "/tmp/attnledger-bench-XXXXXX";
	double *out = calloc((size_t)ROWS * COLUMNS, sizeof(*out));
	int fd = mkstemp(path);

	if (!out || fd < 0)
		return EXIT_FAILURE;
	close(fd);
	bench_opening(path);
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++)
		if (al_dtype_stored(dtypes[i])->from_double)
			bench_reading(path, dtypes[i], out);
	unlink(path);
	free(out);
	return EXIT_SUCCESS;
}
