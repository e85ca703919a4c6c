/* An .npz file. */
#include "laid_out.h"

int fuzz_input(const uint8_t *data, size_t size)
{
	fuzz_checkpoint(data, size, "fuzz.npz", "npz", fuzz_visit);
	return 0;
}
