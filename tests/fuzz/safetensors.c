/* A safetensors file: opened; then what it claims is held against it, and every number is read. */
#include "checkpoint.h"

enum { NUMBERS = 1024 };

static void read_all(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor)
{
	static double numbers[NUMBERS];
	struct al_selection block = {.n_runs = 1};
	struct al_error err;

	for (; block.first < tensor->n_elements; block.first += block.run) {
		int64_t left = tensor->n_elements - block.first;
		block.run = left < NUMBERS ? left : NUMBERS;
		FUZZ_CHECK(al_tensor_read_double(checkpoint, tensor, &block, numbers, NUMBERS, &err)
			== (tensor->dtype->to_double != NULL));
	}
}

static void visit(const struct al_checkpoint *checkpoint)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		FUZZ_CHECK(al_checkpoint_find(checkpoint, tensor->name) == tensor);
		FUZZ_CHECK(tensor->offset + tensor->bytes <= checkpoint->bytes);
		FUZZ_CHECK(tensor->offset >= checkpoint->shards[0].header_bytes);
		bytes += tensor->bytes;
		read_all(checkpoint, tensor);
	}
	FUZZ_CHECK(bytes + checkpoint->shards[0].header_bytes == checkpoint->bytes);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	fuzz_checkpoint(data, size, "fuzz.safetensors", "safetensors", visit);
	return 0;
}
