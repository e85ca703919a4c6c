/* A llama2.c .bin: what is listed fills the file, and its header is a config of its family. */
#include "checkpoint.h"

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

int fuzz_input(const uint8_t *data, size_t size)
{
	fuzz_checkpoint(data, size, "fuzz.bin", "llama2.c", visit);
	return 0;
}
