/* The index of a folder that holds two small shards, one.safetensors with "a" and "b",
 * two.safetensors with "c". */
#include "formats/checkpoint.h"
#include "fuzz.h"
#include "support/folder.h"
#include "support/weights.h"

static const double values[] = {1, 2};
static const struct weight one[] = {
	{.name = "a", .dtype = "F32", .shape = {2}, .n_dims = 1, .values = values},
	{.name = "b", .dtype = "BF16", .shape = {2}, .n_dims = 1, .values = values},
};
static const struct weight two[] = {
	{.name = "c", .dtype = "F64", .shape = {2}, .n_dims = 1, .values = values},
};

static void visit(const struct al_checkpoint *checkpoint)
{
	FUZZ_CHECK(checkpoint->n_shards >= 1 && checkpoint->n_shards <= 2);
	FUZZ_CHECK(checkpoint->n_tensors >= 1 && checkpoint->n_tensors <= 3);
	FUZZ_CHECK(checkpoint->n_unlisted < checkpoint->n_tensors);
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		struct al_selection all = al_select_all(tensor);
		float numbers[2];
		FUZZ_CHECK(al_checkpoint_find(checkpoint, tensor->name) == tensor);
		FUZZ_CHECK(al_tensor_read_float(checkpoint, tensor, &all, numbers, 2, NULL));
		FUZZ_CHECK(numbers[1] > numbers[0]);
	}
}

/* Made once: writing a shard waits for the disk. */
static struct test_folder folder;

static void remove_folder(void)
{
	test_folder_remove(&folder);
}

static void make_folder(void)
{
	char path[256];

	test_folder_make(&folder);
	atexit(remove_folder);
	write_weights(test_path(path, &folder, "one.safetensors"), one, 2);
	write_weights(test_path(path, &folder, "two.safetensors"), two, 1);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_checkpoint checkpoint;
	struct al_error err = {0};
	char path[256];

	if (!folder.path[0])
		make_folder();
	test_write(test_path(path, &folder, "model.safetensors.index.json"), data, size);
	if (al_checkpoint_open(&checkpoint, folder.path, &err)) {
		visit(&checkpoint);
		al_checkpoint_close(&checkpoint);
	} else {
		FUZZ_CHECK(err.status == AL_EINPUT
			&& strncmp(err.message, folder.path, strlen(folder.path)) == 0);
	}
	return 0;
}
