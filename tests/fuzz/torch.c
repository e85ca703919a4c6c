/* A file of torch.save, in either container. */
#include "laid_out.h"

int fuzz_input(const uint8_t *data, size_t size)
{
	const bool is_zip = size > 0 && *data == 'P';

	fuzz_checkpoint(data, size, "fuzz.pt", is_zip ? "PyTorch" : "PyTorch, legacy", fuzz_visit);
	return 0;
}
