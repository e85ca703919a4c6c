/* The memory that a target holds for an input: at most 64 MiB, and 64 times the input. It is seen
 * where AddressSanitizer sees it: in fuzzers, and in the corpora's tests under sanitizers. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "fuzz.h"

#ifdef SEES_MEMORY

#include <sanitizer/allocator_interface.h>

static const long long factor = 64;

__attribute__((weak)) long long fuzz_held_bytes(void)
{
	return 64LL << 20;
}

static atomic_llong live; /* since the hooks were installed: less than none where older ones went */
static atomic_llong most; /* 0: not asked for */

static void hear_malloc(const volatile void *memory, size_t bytes)
{
	const long long now = atomic_fetch_add(&live, (long long)bytes) + (long long)bytes,
			allowed = most;

	(void)memory;
	if (allowed == 0 || now <= allowed)
		return;
	most = 0;
	fprintf(stderr, "fuzz: %zu more bytes are too many for this input\n", bytes);
	abort();
}

static void hear_free(const volatile void *memory)
{
	if (memory)
		atomic_fetch_sub(&live, (long long)__sanitizer_get_allocated_size(memory));
}

static void bound(size_t size)
{
	static bool is_heard;

	is_heard = is_heard || __sanitizer_install_malloc_and_free_hooks(hear_malloc, hear_free);
	FUZZ_CHECK(is_heard);
	most = live + fuzz_held_bytes() + factor * (long long)size;
}

static void unbound(void)
{
	most = 0;
}

#else

static void bound(size_t size)
{
	(void)size;
}

static void unbound(void)
{
}

#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bound(size);
	const int result = fuzz_input(data, size);
	unbound();
	return result;
}
