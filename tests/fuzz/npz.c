/* An .npz file: what is listed lies within it or is unpacked, or says why it can't be. */
#include "checkpoint.h"

enum { MOST_READ = 300 };

static void visit(const struct al_checkpoint *checkpoint)
{
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		const int64_t first = tensor->n_elements / 3, left = tensor->n_elements - first;
		const struct al_selection some = {.first = first,
			.run = left < MOST_READ ? left : MOST_READ,
			.n_runs = 1};
		double numbers[MOST_READ];
		struct al_error err = {0};
		FUZZ_CHECK(tensor->layout || tensor->offset + tensor->bytes <= checkpoint->bytes);
		FUZZ_CHECK(
			al_tensor_read_double(checkpoint, tensor, &some, numbers, MOST_READ, &err)
			|| err.status == AL_EINPUT);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_checkpoint(data, size, "fuzz.npz", "npz", visit);
	return 0;
}
