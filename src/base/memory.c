/* Memory from the heap, which is there or ends everything; and arenas, chains of blocks, each with
 * its memory after its header. */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */

#include <gmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "base/base.h"
#include "base/budget.h"

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

static void *expect(void *memory, size_t bytes)
{
	if (!memory)
		al_memory_exhausted(bytes);
	return memory;
}

void *al_alloc(size_t count, size_t size)
{
	const size_t bytes = product(count, size);

	return expect(malloc(bytes), bytes);
}

void *al_calloc(size_t count, size_t size)
{
	const size_t bytes = product(count, size);

	return expect(calloc(1, bytes), bytes);
}

void *al_realloc(void *memory, size_t count, size_t size)
{
	const size_t bytes = product(count, size);

	return expect(realloc(memory, bytes), bytes);
}

void al_free_at(void *pointer)
{
	void *memory;

	memcpy(&memory, pointer, sizeof(memory));
	free(memory);
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
static bool is_too_large(uint64_t count, size_t size)
{
	return size > 0 && count > PTRDIFF_MAX / size;
}

void *al_try_calloc(uint64_t count, size_t size, struct al_error *err)
{
	const size_t n = count ? (size_t)count : 1;
	void *memory = is_too_large(count, size) ? NULL : calloc(n, size);

	if (!memory && size > 1)
		al_fail(err, AL_ESYSTEM, "out of memory (%llu x %zu bytes)",
			(unsigned long long)count, size);
	else if (!memory)
		al_fail(err, AL_ESYSTEM, "out of memory (%llu bytes)", (unsigned long long)count);
	else
		ask_large_pages(memory, n * size);
	return memory;
}

bool al_memory_has_room(size_t bytes)
{
	if (bytes == 0)
		return true;
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

/* ---- arenas ---- */

/* The address sanitizer sees what is touched beyond what was asked for, in an arena, too. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define HIDE(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define SHOW(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
enum { GAP = alignof(max_align_t) };
#else
#define HIDE(at, bytes) ((void)(at))
#define SHOW(at, bytes) ((void)(at))
enum { GAP = 0 };
#endif

/* Each block is twice as large as the one before: many small arenas stay small. */
enum { FIRST_BLOCK_BYTES = 1024, LARGEST_BLOCK_BYTES = 65536 };

struct al_arena_block {
	struct al_arena_block *older;
	size_t used, size;
	alignas(max_align_t) unsigned char bytes[];
};

struct al_arena_deferred {
	struct al_arena_deferred *older;
	void (*finish)(void *object);
	void *object;
};

void al_arena_init(struct al_arena *arena)
{
	*arena = (struct al_arena){NULL, NULL, NULL};
}

void al_arena_defer(struct al_arena *arena, void (*finish)(void *object), void *object)
{
	struct al_arena_deferred *deferred = al_new(arena, struct al_arena_deferred);

	*deferred = (struct al_arena_deferred){arena->deferred, finish, object};
	arena->deferred = deferred;
}

void al_arena_settle(struct al_arena *arena, const struct al_arena_deferred *mark)
{
	while (arena->deferred != mark) {
		struct al_arena_deferred *last = arena->deferred;
		arena->deferred = last->older;
		last->finish(last->object);
	}
}

static void free_blocks(struct al_arena *arena, struct al_arena_block *block)
{
	while (block) {
		struct al_arena_block *older = block->older;
		if (arena->budget)
			arena->budget->bytes -= block->size;
		free(block);
		block = older;
	}
}

void al_arena_finish(struct al_arena *arena)
{
	al_arena_settle(arena, NULL);
	free_blocks(arena, arena->newest);
	arena->newest = NULL;
}

void al_arena_clear(struct al_arena *arena)
{
	struct al_arena_block *newest = arena->newest;

	al_arena_settle(arena, NULL);
	if (!newest)
		return;
	free_blocks(arena, newest->older);
	SHOW(newest->bytes, newest->used);
	memset(newest->bytes, 0, newest->used);
	HIDE(newest->bytes, newest->used);
	newest->older = NULL;
	newest->used = 0;
}

static struct al_arena_block *add_block(struct al_arena *arena, size_t bytes)
{
	size_t usual = arena->newest ? 2 * arena->newest->size : FIRST_BLOCK_BYTES;
	usual = al_least(usual, LARGEST_BLOCK_BYTES);
	size_t size = al_most(bytes, usual);
	struct al_arena_block *block = al_calloc(1, sizeof(*block) + size);

	if (arena->budget)
		arena->budget->bytes += size;
	block->size = size;
	block->older = arena->newest;
	arena->newest = block;
	HIDE(block->bytes, size);
	return block;
}

void *al_arena_alloc(struct al_arena *arena, size_t count, size_t size)
{
	size_t asked;
	const size_t align = alignof(max_align_t);

	if (__builtin_mul_overflow(count, size, &asked) || asked > SIZE_MAX / 2)
		al_memory_exhausted(SIZE_MAX);
	const size_t bytes = (asked + align - 1) / align * align + GAP;

	struct al_arena_block *block = arena->newest;
	if (!block || block->size - block->used < bytes)
		block = add_block(arena, bytes);
	void *memory = block->bytes + block->used;
	block->used += bytes;
	SHOW(memory, asked);
	return memory;
}

void *al_grow(struct al_arena *arena, void *items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity) {
		SHOW((char *)items + count * size, size);
		return items;
	}

	size_t room = *capacity ? 2 * *capacity : 8;
	void *grown = al_arena_alloc(arena, room, size);
	if (count)
		memcpy(grown, items, count * size);
	HIDE((char *)grown + (count + 1) * size, (room - count - 1) * size);
	*capacity = room;
	return grown;
}

char *al_strndup(struct al_arena *arena, const char *text, size_t length)
{
	char *copy = al_arena_alloc(arena, length + 1, 1);

	memcpy(copy, text, length);
	return copy;
}

char *al_strdup(struct al_arena *arena, const char *text)
{
	return al_strndup(arena, text, strlen(text));
}

char *al_format(struct al_arena *arena, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = al_format_list(arena, format, args);
	va_end(args);
	return text;
}

char *al_format_list(struct al_arena *arena, const char *format, va_list args)
{
	char most[256]; /* longer texts are rare, and written twice */
	va_list again;

	va_copy(again, args);
	int length = vsnprintf(most, sizeof(most), format, args);
	if (length < 0)
		al_memory_exhausted(SIZE_MAX);

	const size_t size = (size_t)length + 1;
	char *text = al_arena_alloc(arena, size, 1);
	if (size <= sizeof(most))
		memcpy(text, most, size);
	else
		vsnprintf(text, size, format, again);
	va_end(again);
	return text;
}
