/* Not a parser: each byte of an input costs 65 MiB, so that the bound on memory is seen to hold. */
#include "fuzz.h"

int fuzz_input(const uint8_t *data, size_t size)
{
	const size_t bytes = size * (65 << 20);
	char *volatile memory = malloc(bytes + 1); /* volatile: or clang leaves it out */

	FUZZ_CHECK(memory);
	memset(memory, size ? *data : 0, bytes);
	free(memory);
	return 0;
}
