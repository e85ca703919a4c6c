/* Rows of head outputs in every number format: what is summed of them is the same to the bit, and
 * exact where numbers are whole. */
#include "unit.h"

#include <math.h>

#include "linalg/linalg.h"
#include "deacon/within.h"
#include "support/folder.h"
#include "support/weights.h"

/* More than a panel, and no whole number of blocks; the last heads and dimensions fill no tile. */
enum { HEADS = 5, D_HEAD = 7, WIDTH = HEADS * D_HEAD, TOKENS = 4096 + 150 };

/* Whole numbers of at most 8 bits, which bf16 holds, too. */
static double made(size_t t, size_t k)
{
	return (double)((t * 7919 + k * 104729 + t * t * (k + 3)) % 511) - 255;
}

static const char *const formats[] = {"F64", "F32", "F16", "BF16"};

struct file {
	struct test_folder folder;
	struct al_checkpoint file;
	struct al_rows rows[2]; /* without targets */
};

static void open_file(struct file *f, const char *format, const double *numbers)
{
	char path[256];
	const struct weight weight = {"heads", format, {TOKENS, WIDTH}, 2, numbers};
	struct al_error err;

	test_folder_make(&f->folder);
	write_weights(test_path(path, &f->folder, "heads.safetensors"), &weight, 1);
	f->rows[1] = (struct al_rows){0};
	if (!al_checkpoint_open(&f->file, path, &err)
		|| !al_rows_of(&f->rows[0], &f->file, &f->file.tensors[0], &err))
		fail_msg("%s", err.message);
}

static void close_file(struct file *f)
{
	al_checkpoint_close(&f->file);
	test_folder_remove(&f->folder);
}

static void sum(struct al_sums *sums, const struct al_statistic *statistic, const char *format,
	const double *numbers)
{
	struct al_error err;
	struct file f;

	open_file(&f, format, numbers);
	assert_int_equal(al_rows_are_single(&f.rows[0]), strcmp(format, "F64") != 0);
	if (!al_sums_find(sums, statistic, f.rows, &err))
		fail_msg("%s", err.message);
	close_file(&f);
}

static double product(const double *numbers, const double *shift, size_t a, size_t b,
	size_t left_out)
{
	double sum = 0;

	for (size_t t = 0; t < TOKENS; t++)
		if (t != left_out)
			sum += (numbers[t * WIDTH + a] - shift[a])
				* (numbers[t * WIDTH + b] - shift[b]);
	return sum;
}

static void check_exact(const struct al_within *w, const struct al_sums *sums,
	const double *numbers, size_t left_out)
{
	for (size_t i = 0; i < HEADS; i++)
		for (size_t k = 0; k < HEADS; k++)
			for (size_t j = 0; j < D_HEAD; j++)
				assert_true(al_within_product(w, sums->sums, i, k, j)
					== product(numbers, w->shift, i * D_HEAD + j,
						k * D_HEAD + j, left_out));
}

static void formats_agree(void **state)
{
	static double numbers[TOKENS * WIDTH];
	const struct al_within within = {HEADS, D_HEAD, numbers};
	const struct al_statistic statistic = al_within_statistic(&within);
	double *expected = malloc(statistic.n_sums * sizeof(*expected));

	(void)state;
	assert_non_null(expected);
	for (size_t i = 0; i < (size_t)TOKENS * WIDTH; i++)
		numbers[i] = made(i / WIDTH, i % WIDTH);
	for (int spoilt = 0; spoilt < 2; spoilt++) {
		if (spoilt)
			numbers[77 * WIDTH + 3] = NAN;
		for (size_t f = 0; f < sizeof(formats) / sizeof(*formats); f++) {
			struct al_sums sums;
			sum(&sums, &statistic, formats[f], numbers);
			assert_int_equal(sums.n_rows, TOKENS - spoilt);
			assert_int_equal(sums.n_left_out, spoilt);
			if (f == 0)
				memcpy(expected, sums.sums, statistic.n_sums * sizeof(*expected));
			assert_memory_equal(sums.sums, expected,
				statistic.n_sums * sizeof(*expected));
			check_exact(&within, &sums, numbers, spoilt ? 77 : TOKENS);
			al_sums_finish(&sums);
		}
	}
	free(expected);
}

/* Numbers that are stored as they are wanted are read where they lie: rows, a part of each, and
 * rows with room between. */
static void read_as_stored(void **state)
{
	static double numbers[TOKENS * WIDTH];
	static const struct al_selection cases[] = {{5 * WIDTH, WIDTH, 4, WIDTH}, {40, 3, 4, WIDTH},
		{7, 30, 1, 0}};

	(void)state;
	for (size_t i = 0; i < (size_t)TOKENS * WIDTH; i++)
		numbers[i] = made(i / WIDTH, i % WIDTH);
	for (size_t f = 0; f < 2; f++) {
		struct file file;
		open_file(&file, formats[f], numbers);
		for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
			const struct al_selection s = cases[c];
			const size_t leading = (size_t)s.run + (c ? 2 : 0);
			double doubles[4 * (WIDTH + 2)];
			float floats[4 * (WIDTH + 2)];
			assert_true(al_tensor_read_double(&file.file, file.rows[0].tensor, &s,
					    doubles, leading, NULL)
				&& al_tensor_read_float(&file.file, file.rows[0].tensor, &s, floats,
					leading, NULL));
			for (size_t i = 0; i < (size_t)(s.n_runs * s.run); i++) {
				const size_t row = i / (size_t)s.run, col = i % (size_t)s.run,
					     at = row * leading + col;
				const double number =
					numbers[(size_t)(s.first + (int64_t)row * s.stride) + col];
				assert_true(doubles[at] == number && (double)floats[at] == number);
			}
		}
		close_file(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_agree),
		cmocka_unit_test(read_as_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
