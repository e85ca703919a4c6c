/* Checkpoints of several files: folders, indexes, and what can be wrong with them. */
#include "unit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "formats/checkpoint.h"
#include "support/folder.h"
#include "support/weights.h"

static int make_folder(void **state)
{
	static struct test_folder folder;

	test_folder_make(&folder);
	*state = &folder;
	return 0;
}

static int remove_folder(void **state)
{
	test_folder_remove(*state);
	return 0;
}

static void put(const struct test_folder *folder, const char *name, const char *text)
{
	char path[256];

	test_write(test_path(path, folder, name), text, strlen(text));
}

/* A shard that holds two vectors of three numbers: NAME and "NAME.bias". */
static void put_shard(const struct test_folder *folder, const char *file, const char *name)
{
	char path[256], bias[64];
	const double values[] = {1, 2, 3};
	const struct weight weights[] = {
		{.name = name, .dtype = "F32", .shape = {3}, .n_dims = 1, .values = values},
		{.name = bias, .dtype = "BF16", .shape = {3}, .n_dims = 1, .values = values},
	};

	snprintf(bias, sizeof(bias), "%s.bias", name);
	write_weights(test_path(path, folder, file), weights, 2);
}

static void open_or_fail(struct al_checkpoint *checkpoint, const char *path)
{
	struct al_error err;

	if (!al_checkpoint_open(checkpoint, path, &err))
		fail_msg("%s", err.message);
}

static void expect_refusal(const char *path, const char *message)
{
	struct al_checkpoint checkpoint;
	struct al_error err;

	if (al_checkpoint_open(&checkpoint, path, &err))
		fail_msg("opened, expected: %s", message);
	assert_int_equal(err.status, AL_EINPUT);
	if (!strstr(err.message, message))
		fail_msg("found:    %s\nexpected: %s", err.message, message);
}

static const char two_shards[] =
	"{\"metadata\": {\"total_size\": 36}, \"weight_map\": {"
	"\"b\": \"model-2.safetensors\", \"a.bias\": \"model-1.safetensors\","
	"\"a\": \"model-1.safetensors\", \"b.bias\": \"model-2.safetensors\"}}";

static void reads_a_sharded_folder(void **state)
{
	const struct test_folder *folder = *state;
	struct al_checkpoint checkpoint;
	double values[3];
	char path[256];

	put_shard(folder, "model-1.safetensors", "a");
	put_shard(folder, "model-2.safetensors", "b");
	put(folder, "model.safetensors.index.json", two_shards);
	put(folder, "config.json", "{}");
	const char *const paths[] = {folder->path,
		test_path(path, folder, "model.safetensors.index.json")};
	for (size_t i = 0; i < 2; i++) {
		open_or_fail(&checkpoint, paths[i]);
		assert_int_equal(checkpoint.n_shards, 2);
		assert_int_equal(checkpoint.n_tensors, 4);
		assert_int_equal(checkpoint.n_unlisted, 0);
		assert_non_null(strstr(checkpoint.index, "model.safetensors.index.json"));
		assert_non_null(strstr(checkpoint.config, "/config.json"));
		const struct al_tensor *tensor = al_checkpoint_find(&checkpoint, "b.bias");
		assert_int_equal(tensor->shard, 1);
		struct al_selection all = al_select_all(tensor);
		assert_true(al_tensor_read_double(&checkpoint, tensor, &all, values, 3, NULL));
		assert_true(values[0] == 1 && values[1] == 2 && values[2] == 3);
		al_checkpoint_close(&checkpoint);
	}
}

static void counts_what_the_index_does_not_name(void **state)
{
	const struct test_folder *folder = *state;
	struct al_checkpoint checkpoint;

	put_shard(folder, "x.safetensors", "a");
	put(folder, "my.safetensors.index.json", "{\"weight_map\": {\"a\": \"x.safetensors\"}}");
	open_or_fail(&checkpoint, folder->path);
	assert_int_equal(checkpoint.n_unlisted, 1);
	assert_null(checkpoint.config);
	al_checkpoint_close(&checkpoint);
}

static const struct {
	const char *index, *message;
} bad_indexes[] = {
	{"[]", ":1:1: found an array, expected an object"},
	{"{}", "key \"weight_map\" is missing"},
	{"{\"weight_map\": []}", "\"weight_map\" is an array, expected an object"},
	{"{\"weight_map\": {}}", "\"weight_map\" names no tensors"},
	{"{\"weight_map\": {\"a\": 1}}", ":1:22: \"a\" is a number, expected a string"},
	{"{\"weight_map\": {\"a\": \"../x.safetensors\"}}",
		":1:22: the shard's name \"../x.safetensors\" is a path, expected a file next to "
		"the index"},
	{"{\"weight_map\": {\"a\": \"..\"}}", "is a path, expected a file next to the index"},
	{"{\"weight_map\": {\"a\": \"\"}}", "the shard's name \"\" is empty"},
	{"{\"weight_map\": {\"a\": \"gone.safetensors\"}}",
		"gone.safetensors: can't open: No such file or directory"},
	{"{\"weight_map\": {\"a\": \"1.safetensors\", \"c\": \"1.safetensors\"}}",
		":1:44: tensor \"c\" is not in 1.safetensors"},
	{"{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"1.safetensors\", "
	 "\"b.bias\": \"2.safetensors\"}}",
		":1:44: tensor \"b\" is in 2.safetensors, not in 1.safetensors"},
	{"{\"weight_map\": {\"a\": \"1.safetensors\", \"a\": \"2.safetensors\"}}",
		"key \"a\" appears twice"},
	{"{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"copy.safetensors\"}}",
		".safetensors too"},
};

/* Its name is that of a program, which has no tensors to read, or longer than any file's. */
static void refuses_names(void **state)
{
	const struct test_folder *folder = *state;
	char path[256], index[512];

	test_write(test_path(path, folder, "x.tflite"), "\34\0\0\0TFL3", 8);
	expect_refusal(path,
		"x.tflite: is a TensorFlow Lite program, expected the model that it was made from");
	for (int length = 255; length <= 256; length++) {
		snprintf(index, sizeof(index), "{\"weight_map\": {\"a\": \"%0*d\"}}", length, 0);
		put(folder, "model.safetensors.index.json", index);
		expect_refusal(folder->path,
			length == 255 ? "can't open: No such file"
				      : "0\" is longer than 255 bytes");
	}
}

static void refuses_indexes_that_are_wrong(void **state)
{
	const struct test_folder *folder = *state;

	put_shard(folder, "1.safetensors", "a");
	put_shard(folder, "2.safetensors", "b");
	put_shard(folder, "copy.safetensors", "a");
	for (size_t i = 0; i < sizeof(bad_indexes) / sizeof(*bad_indexes); i++) {
		put(folder, "model.safetensors.index.json", bad_indexes[i].index);
		expect_refusal(folder->path, bad_indexes[i].message);
	}
}

static void chooses_a_file_in_a_folder(void **state)
{
	const struct test_folder *folder = *state;
	struct al_checkpoint checkpoint;
	char path[256];

	expect_refusal(folder->path, "contains no .safetensors file");
	put_shard(folder, "model.fp16.safetensors", "a");
	open_or_fail(&checkpoint, folder->path);
	al_checkpoint_close(&checkpoint);
	put_shard(folder, "other.safetensors", "b");
	expect_refusal(folder->path,
		"contains 2 .safetensors files and 0 indexes; expected model.safetensors, "
		"model.safetensors.index.json or a single file");
	put_shard(folder, "model.safetensors", "c");
	open_or_fail(&checkpoint, folder->path);
	assert_non_null(al_checkpoint_find(&checkpoint, "c"));
	al_checkpoint_close(&checkpoint);

	assert_int_equal(mkfifo(test_path(path, folder, "pipe"), 0600), 0);
	expect_refusal(path, "is a pipe, expected a file");
	expect_refusal(test_path(path, folder, "nothing"), "can't open: No such file or directory");
}

/* More shards than a process may have open files are read all the same; one that was replaced
 * meanwhile is not. */
static void reads_more_shards_than_open_files(void **state)
{
	enum { SHARDS = 300, FILES = 280 };
	const struct test_folder *folder = *state;
	struct rlimit limit, usual;
	struct al_checkpoint checkpoint;
	struct al_error err;
	struct al_text index;
	double numbers[3] = {0};
	char path[256];

	al_text_init(&index);
	for (int i = 0; i < SHARDS; i++) {
		char file[32], name[32];
		snprintf(file, sizeof(file), "%03d.safetensors", i);
		snprintf(name, sizeof(name), "w%d", i);
		put_shard(folder, file, name);
		al_text_addf(&index, "%s\"%s\": \"%s\"", i ? ", " : "{\"weight_map\": {", name,
			file);
	}
	al_text_add(&index, "}}");
	put(folder, "model.safetensors.index.json", index.data);
	al_text_finish(&index);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	limit = usual;
	limit.rlim_cur = FILES;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	open_or_fail(&checkpoint, folder->path);
	assert_int_equal(checkpoint.n_shards, SHARDS);
	for (size_t i = 0; i < checkpoint.n_tensors; i++) {
		const struct al_selection all = al_select_all(&checkpoint.tensors[i]);
		assert_true(al_tensor_read_double(&checkpoint, &checkpoint.tensors[i], &all,
			numbers, 3, &err));
		assert_true(numbers[0] == 1 && numbers[2] == 3);
	}
	put_shard(folder, "299.safetensors", "w299");
	const struct al_tensor *last = al_checkpoint_find(&checkpoint, "w299");
	const struct al_selection all = al_select_all(last);
	assert_false(al_tensor_read_double(&checkpoint, last, &all, numbers, 3, &err));
	assert_non_null(strstr(err.message, "299.safetensors: was replaced after it was opened"));
	al_checkpoint_close(&checkpoint);
	remove(test_path(path, folder, "299.safetensors"));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

/* ---- overwritten ---- */

static void expect_changed(const struct al_checkpoint *checkpoint, const char *message)
{
	struct al_error err;

	assert_false(al_checkpoint_check_unchanged(checkpoint, &err));
	assert_int_equal(err.status, AL_ESYSTEM);
	if (!strstr(err.message, message))
		fail_msg("\"%s\", expected \"%s\"", err.message, message);
}

static void put_byte(const char *path, const char *mode, long at, char byte)
{
	FILE *file = fopen(path, mode);

	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	assert_int_equal(fputc(byte, file), byte);
	assert_int_equal(fclose(file), 0);
}

static void set_time(const char *path, struct timespec modified)
{
	const struct timespec times[] = {modified, modified};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* By time, by header where size and time are as before, by size, and by another file. */
static void notices_that_it_was_overwritten(void **state)
{
	struct al_checkpoint checkpoint;
	struct al_error err;
	struct stat before;
	char path[256];

	put_shard(*state, "one.safetensors", "x");
	test_path(path, *state, "one.safetensors");
	assert_int_equal(stat(path, &before), 0);
	open_or_fail(&checkpoint, path);
	assert_true(al_checkpoint_check_unchanged(&checkpoint, &err));
	put_byte(path, "r+", before.st_size - 1, 7);
	set_time(path, (struct timespec){.tv_sec = before.st_mtim.tv_sec + 1});
	expect_changed(&checkpoint, "one.safetensors: was modified while being read");
	put_byte(path, "r+", 9, 'X');
	set_time(path, before.st_mtim);
	expect_changed(&checkpoint, "one.safetensors: its header changed");
	put_byte(path, "r+", before.st_size, 7);
	set_time(path, before.st_mtim);
	expect_changed(&checkpoint, "bytes while being read");
	put_shard(*state, "two.safetensors", "x");
	assert_int_equal(rename(test_path((char[256]){0}, *state, "two.safetensors"), path), 0);
	expect_changed(&checkpoint, "one.safetensors: was replaced");
	al_checkpoint_close(&checkpoint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(reads_a_sharded_folder),
		CASE(counts_what_the_index_does_not_name),
		CASE(refuses_indexes_that_are_wrong),
		CASE(refuses_names),
		CASE(chooses_a_file_in_a_folder),
		CASE(reads_more_shards_than_open_files),
		CASE(notices_that_it_was_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
