/* Split GGUF files: any part opens all, and parts that aren't of one model are refused. */
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "formats/checkpoint.h"
#include "formats/gguf_write.h"
#include "support/one_folder.h"

enum { PARTS = 3 };

static char *part_path(char path[256], unsigned number)
{
	char name[64];

	snprintf(name, sizeof(name), "tiny-%05u-of-%05d.gguf", number + 1, PARTS);
	return test_path(path, &folder, name);
}

/* Part `number`, as it says itself, with a tensor of that name. */
static void write_part(const char *path, unsigned number, unsigned n_tensors, const char *tensor)
{
	const struct al_gguf_entry entries[] = {
		{.key = "split.no", .number = number},
		{.key = "split.count", .number = PARTS},
		{.key = "split.tensors.count", .number = n_tensors},
		{.key = "general.architecture", .text = "tiny"},
	};
	const float numbers[] = {(float)number, 7};
	const struct al_gguf_vector vector = {tensor, numbers, 2};
	struct al_error err;

	if (!al_gguf_write(path, entries, number == 0 ? 4 : 3, &vector, 1, &err))
		fail_msg("%s", err.message);
}

static void write_parts(void)
{
	static const char *const names[PARTS] = {"a", "output.weight", "c"};
	char path[256];

	for (unsigned i = 0; i < PARTS; i++)
		write_part(part_path(path, i), i, PARTS, names[i]);
}

static void opens_all_by_any(void **state)
{
	struct al_checkpoint checkpoint;
	struct al_error err;
	char path[256];

	(void)state;
	write_parts();
	for (unsigned i = 0; i < PARTS; i++) {
		if (!al_checkpoint_open(&checkpoint, part_path(path, i), &err))
			fail_msg("%s", err.message);
		assert_int_equal(checkpoint.n_shards, PARTS);
		assert_int_equal(checkpoint.n_tensors, PARTS);
		assert_string_equal(checkpoint.tensors[0].name, "a");
		assert_string_equal(checkpoint.path, path);
		double numbers[2];
		const struct al_tensor *c = al_checkpoint_find(&checkpoint, "c");
		const struct al_selection all = al_select_all(c);
		assert_true(al_tensor_read_double(&checkpoint, c, &all, numbers, 2, &err));
		assert_true(numbers[0] == 2 && numbers[1] == 7);
		/* what the parts hold together */
		assert_non_null(strstr(checkpoint.header_config, "\"tie_word_embeddings\": false"));
		assert_non_null(strstr(checkpoint.header_config, "\"c\"]"));
		al_checkpoint_close(&checkpoint);
	}
}

static void refuse(const char *path, const char *expected)
{
	struct al_checkpoint checkpoint;
	struct al_error err;

	assert_false(al_checkpoint_open(&checkpoint, path, &err));
	if (err.status != AL_EINPUT || strncmp(err.message, path, strlen(path)) != 0
		|| !strstr(err.message, expected))
		fail_msg("%s, expected %s", err.message, expected);
}

/* A file that is the first of so many parts. */
static void write_count(const char *path, unsigned n)
{
	const struct al_gguf_entry entries[] = {{.key = "split.no"},
		{.key = "split.count", .number = n},
		{.key = "general.architecture", .text = "tiny"}};
	struct al_error err;

	if (!al_gguf_write(path, entries, 3, NULL, 0, &err))
		fail_msg("%s", err.message);
}

static void open_one(const char *path)
{
	struct al_checkpoint checkpoint;
	struct al_error err;

	if (!al_checkpoint_open(&checkpoint, path, &err))
		fail_msg("%s", err.message);
	assert_int_equal(checkpoint.n_shards, 1);
	al_checkpoint_close(&checkpoint);
}

static void refuses_others(void **state)
{
	char first[256], second[256], other[256];

	(void)state;
	write_parts();
	part_path(first, 0);
	part_path(second, 1);
	write_part(second, 2, PARTS, "b");
	refuse(first,
		"-00002-of-00003.gguf: split.no is 2, expected 1: the parts belong to different");
	write_part(second, 1, PARTS + 1, "b");
	refuse(first, "split.tensors.count is 4, expected 3: the parts belong to different models");
	write_part(second, 1, PARTS, "a");
	refuse(first, "tensor \"a\"");
	test_write(second, "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
	refuse(first, "-00002-of-00003.gguf: has no split.no, expected 1");
	assert_int_equal(unlink(second), 0);
	refuse(first, "is one of 3 parts: ");
	refuse(first, "-00002-of-00003.gguf: can't open: No such file");
	test_path(other, &folder, "renamed.gguf");
	write_part(other, 1, PARTS, "b");
	refuse(other,
		"is part 2 of 3, but its name doesn't end in -00002-of-00003.gguf, by which the "
		"other parts are found");
	write_count(other, 65536);
	refuse(other, "split.count is 65536, expected at most 65535");
	write_count(other, 65535);
	refuse(other, "is part 1 of 65535, but its name doesn't end in -00001-of-65535.gguf");
	write_count(other, 1);
	open_one(other);
	write_count(other, 0);
	open_one(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_all_by_any),
		cmocka_unit_test(refuses_others),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
