/* Memory from the heap, which is there or ends everything.
 *
 * A request that the system can't meet goes to one handler, which doesn't return; without one it
 * aborts, as GMP and GLib below us do: so it is in the library. The program prints one line and
 * ends (commands/exhausted.c). free() gives back what these functions return. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Before the declaration of a pointer to such memory: it is freed where its block ends. */
#define AL_FREED AL_ENDS(al_free_at)
void al_free_at(void *pointer);

/* Never NULL. `count` objects of `size` bytes; the product is checked; none is one byte. */
void *al_alloc(size_t count, size_t size) AL_MUST_CHECK;
void *al_calloc(size_t count, size_t size) AL_MUST_CHECK;
void *al_realloc(void *memory, size_t count, size_t size) AL_MUST_CHECK;

/* Zeroed memory whose size a stranger's file decides, a checkpoint's matrices: NULL, and an error
 * with the number of bytes wanted, where the system can't give so much. */
void *al_try_calloc(uint64_t count, size_t size, struct al_error *err) AL_MUST_CHECK;

/* Could the system give so much now? For libraries that ask for ever, or end the program, where it
 * can't. */
bool al_memory_has_room(size_t bytes) AL_MUST_CHECK;

/* Called with the bytes that can't be had, from any thread, perhaps from several; must not return
 * and must not ask for memory. */
typedef void al_memory_handler(size_t bytes);

/* Calls the handler; SIZE_MAX bytes: more than can be counted. */
_Noreturn void al_memory_exhausted(size_t bytes);

/* For a program, before its first allocation: sets the handler, and lets GMP ask here. A
 * library doesn't do that to the program that it is part of. */
void al_memory_guard(al_memory_handler *handler);
