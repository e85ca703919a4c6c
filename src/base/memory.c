/* Memory from the heap, which is there or ends everything. */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */
#include "base/memory.h"

#include <gmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static al_memory_handler *when_exhausted;

_Noreturn void al_memory_exhausted(size_t bytes)
{
	if (when_exhausted)
		when_exhausted(bytes);
	abort();
}

/* At least one byte: NULL then means that there is no memory. */
static size_t product(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
		al_memory_exhausted(SIZE_MAX);
	return bytes ? bytes : 1;
}

void *al_alloc(size_t count, size_t size)
{
	const size_t bytes = product(count, size);
	void *memory = malloc(bytes);

	if (!memory)
		al_memory_exhausted(bytes);
	return memory;
}

void *al_calloc(size_t count, size_t size)
{
	const size_t bytes = product(count, size);
	void *memory = calloc(1, bytes);

	if (!memory)
		al_memory_exhausted(bytes);
	return memory;
}

void *al_realloc(void *memory, size_t count, size_t size)
{
	const size_t bytes = product(count, size);
	void *larger = realloc(memory, bytes);

	if (!larger)
		al_memory_exhausted(bytes);
	return larger;
}

/* Large matrices lie in large pages where the system has them: what they save of the time in which
 * pages are found and first touched is a tenth of a forward pass. */
static void ask_large_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
	const uintptr_t page = 1 << 21, from = ((uintptr_t)memory + page - 1) & ~(page - 1);
	const uintptr_t to = ((uintptr_t)memory + bytes) & ~(page - 1);

	if (from < to)
		madvise((char *)memory + (from - (uintptr_t)memory), to - from, MADV_HUGEPAGE);
#else
	(void)memory;
	(void)bytes;
#endif
}

/* No object is larger: the sanitizers' calloc would abort. */
static bool is_too_large(size_t count, size_t size)
{
	return size > 0 && count > PTRDIFF_MAX / size;
}

/* `memory` for so many objects, or why there is none. */
static void *hand_out(void *memory, size_t count, size_t size, struct al_error *err)
{
	if (!memory && size > 1)
		al_fail(err, AL_ESYSTEM, "no memory for %zu x %zu bytes", count, size);
	else if (!memory)
		al_fail(err, AL_ESYSTEM, "no memory for %zu bytes", count);
	else
		ask_large_pages(memory, (count ? count : 1) * size);
	return memory;
}

void *al_try_alloc(size_t count, size_t size, struct al_error *err)
{
	void *memory = is_too_large(count, size) ? NULL : malloc((count ? count : 1) * size);

	return hand_out(memory, count, size, err);
}

void *al_try_calloc(size_t count, size_t size, struct al_error *err)
{
	void *memory = is_too_large(count, size) ? NULL : calloc(count ? count : 1, size);

	return hand_out(memory, count, size, err);
}

bool al_memory_has_room(size_t bytes)
{
	/* mapped, not allocated: MALLOC_PERTURB_ and calloc would touch each page */
	void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return room != MAP_FAILED && munmap(room, bytes) == 0;
}

/* ---- what others ask for ---- */

static void *alloc_bytes(size_t bytes)
{
	return al_alloc(bytes, 1);
}

static void *realloc_bytes(void *memory, size_t old_bytes, size_t bytes)
{
	(void)old_bytes;
	return al_realloc(memory, bytes, 1);
}

static void free_bytes(void *memory, size_t bytes)
{
	(void)bytes;
	free(memory);
}

void al_memory_guard(al_memory_handler *handler)
{
	when_exhausted = handler;
	mp_set_memory_functions(alloc_bytes, realloc_bytes, free_bytes);
}
