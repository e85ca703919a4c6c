/* A llama2.c .bin: what is listed fills the file, and its header is a config of its family. */
#include "fuzz.h"
#include "support/folder.h"
#include "views/views.h"

static void visit(const struct al_checkpoint *checkpoint)
{
	const struct al_tensor *last = &checkpoint->tensors[checkpoint->n_tensors - 1];
	uint64_t bytes = 0;

	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		bytes += checkpoint->tensors[i].bytes;
	FUZZ_CHECK(bytes + checkpoint->shards[0].header_bytes == checkpoint->bytes);
	FUZZ_CHECK(last->offset + last->bytes == checkpoint->bytes);
	FUZZ_CHECK(checkpoint->header_config != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_error err = {0};
	char path[256];

	test_folder_make(&folder);
	test_write(test_path(path, &folder, "fuzz.bin"), data, size);
	if (al_checkpoint_open(&checkpoint, path, &err)) {
		if (strcmp(checkpoint.shards[0].format, "llama2.c") == 0)
			visit(&checkpoint);
		al_checkpoint_close(&checkpoint);
	} else {
		FUZZ_CHECK(
			err.status == AL_EINPUT && strncmp(err.message, path, strlen(path)) == 0);
	}
	test_folder_remove(&folder);
	return 0;
}
