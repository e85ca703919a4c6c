/* An .npy file: a matrix or a one-line refusal that names it. */
#include "base/error.h"
#include "formats/npy.h"
#include "fuzz.h"

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_npy npy;
	struct al_error err = {0};
	double sum = 0;

	if (al_npy_parse(&npy, "fuzz.npy", (const char *)data, size, false, &err)) {
		FUZZ_CHECK(npy.rows * npy.cols * npy.dtype->block_bytes <= size);
		for (size_t i = 0; i < npy.rows * npy.cols; i++)
			sum += npy.data[i];
		FUZZ_CHECK(sum == sum || sum != sum);
		al_npy_finish(&npy);
	} else {
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz.npy: ", 10) == 0);
		FUZZ_CHECK(!npy.data);
	}
	return 0;
}
