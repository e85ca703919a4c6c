/* llama2.c's .bin: names, shapes and places of a file of known numbers, and what is refused. */
#include "unit.h"

#include "support/folder.h"
#include "model/heads/views.h"

/* dim 4, hidden 6, 2 layers, 2 heads of width 2, 1 key/value head, vocabulary 5, 3 positions */
static const int32_t tiny[7] = {4, 6, 2, 2, 1, 5, 3};
enum {
	LAYER = 4 + 16 + 8 + 8 + 16 + 4 + 24 + 24 + 24,
	TIED = 20 + 2 * LAYER + 4 + 3 + 3,
	LARGEST = TIED + 20,
};

/* Writes a header and the numbers 0, 1, 2, ... */
static const char *write_bin(char path[256], const struct test_folder *folder,
	const int32_t header[7], size_t n)
{
	char bytes[28 + 4 * LARGEST];

	memcpy(bytes, header, 28);
	for (size_t i = 0; i < n; i++) {
		const float number = (float)i;
		memcpy(bytes + 28 + 4 * i, &number, 4);
	}
	test_write(test_path(path, folder, "tiny.bin"), bytes, 28 + 4 * n);
	return path;
}

static void check_first(const struct al_checkpoint *checkpoint, const char *name, double expected)
{
	const struct al_tensor *tensor = al_checkpoint_find(checkpoint, name);
	struct al_selection first = {.run = 1, .n_runs = 1};
	struct al_error err;
	double number;

	assert_non_null(tensor);
	assert_true(al_tensor_read_double(checkpoint, tensor, &first, &number, 1, &err));
	if (number != expected)
		fail_msg("%s begins with %g, expected %g", name, number, expected);
}

static void places(void **state)
{
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_error err;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	assert_true(al_checkpoint_open(&checkpoint, write_bin(path, &folder, tiny, TIED), &err));
	assert_int_equal(checkpoint.n_tensors, 1 + 2 * 9 + 3);
	check_first(&checkpoint, "tok_embeddings.weight", 0);
	check_first(&checkpoint, "layers.1.attention_norm.weight", 24);
	check_first(&checkpoint, "layers.0.attention.wq.weight", 28);
	check_first(&checkpoint, "layers.1.attention.wk.weight", 68);
	check_first(&checkpoint, "layers.0.feed_forward.w2.weight", 20 + 2 * (4 + 48 + 4 + 24));
	check_first(&checkpoint, "norm.weight", 20 + 2 * LAYER);
	check_first(&checkpoint, "freqs_sin", 20 + 2 * LAYER + 7);
	al_checkpoint_close(&checkpoint);
	test_folder_remove(&folder);
}

/* The header is the config: family, dimensions, pairs, and whether the head is the embedding. */
static void a_model(void **state)
{
	int32_t untied[7];
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_catalog *catalog = al_catalog_create();
	struct al_model_view view;
	struct al_error err;
	char path[256];

	(void)state;
	memcpy(untied, tiny, sizeof(tiny));
	untied[5] = -5;
	test_folder_make(&folder);
	assert_true(
		al_checkpoint_open(&checkpoint, write_bin(path, &folder, untied, LARGEST), &err));
	check_first(&checkpoint, "output.weight", TIED);
	if (!al_model_view_open(&view, catalog, &checkpoint, &(struct al_view_options){0}, &err))
		fail_msg("%s", err.message);
	assert_string_equal(view.family->name, "llama-meta");
	assert_int_equal(view.n_modules, 2);
	assert_int_equal(view.modules[1].n_kv_heads, 1);
	assert_int_equal(view.modules[1].rotary_pairs, AL_PAIRS_INTERLEAVED);
	al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
	al_catalog_destroy(catalog);
	test_folder_remove(&folder);
}

static void refused(void **state)
{
	static const struct {
		int key;
		int32_t value;
		size_t n;
		const char *expected;
	} cases[] = {
		{0, 0, TIED, "dim is 0, expected 1 to 16777216"},
		{0, 16777217, TIED, "dim is 16777217, expected 1 to 16777216"},
		{2, 4097, TIED, "n_layers is 4097, expected 1 to 4096"},
		{6, -1, TIED, "max_seq_len is -1, expected 1 to 16777216"},
		{0, 5, TIED, "dim (5) is not a multiple of n_heads (2)"},
		{3, 4, TIED, "heads of 1 dimensions, expected an even number"},
		{4, 3, TIED, "n_heads (2) is not a multiple of n_kv_heads (3)"},
		{5, INT32_MIN, TIED, "vocab_size is -2147483648"},
		{2, 4096, TIED, "ends at byte"},
		{6, 3, TIED - 1, "tensor \"freqs_sin\": ends at byte"},
		{6, 3, TIED + 1, "the end of its last tensor"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int32_t header[7];
		struct test_folder folder;
		struct al_checkpoint checkpoint;
		struct al_error err;
		char path[256];
		memcpy(header, tiny, sizeof(tiny));
		header[cases[i].key] = cases[i].value;
		test_folder_make(&folder);
		write_bin(path, &folder, header, cases[i].n);
		assert_false(al_checkpoint_open(&checkpoint, path, &err));
		assert_int_equal(err.status, AL_EINPUT);
		if (!strstr(err.message, cases[i].expected))
			fail_msg("\"%s\", expected \"%s\"", err.message, cases[i].expected);
		test_folder_remove(&folder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(a_model),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests_name("llama2c", tests, NULL, NULL);
}
