/* Arenas: memory that dies together.
 *
 * A scenario, a ledger, a table own one arena each; what is reached from them dies with them.
 * Memory is zeroed and never NULL (base/memory.h). What is sized by a stranger's file is bounded
 * before it is asked for. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/error.h"

struct al_arena_block;
struct al_arena_deferred;
struct al_budget; /* base/budget.h */

struct al_arena {
	struct al_arena_block *newest;
	struct al_arena_deferred *deferred; /* the last first */
	struct al_budget *budget; /* that blocks are taken from; NULL: none. Set before the first */
};

/* An arena of the block that it is declared in. */
#define AL_ARENA(name) AL_ENDS(al_arena_finish) struct al_arena name = {NULL, NULL, NULL}

void al_arena_init(struct al_arena *arena);
void al_arena_finish(struct al_arena *arena);

/* As new, but its newest block stays: for memory that is used again and again. */
void al_arena_clear(struct al_arena *arena);

/* Calls `finish` with the object when the arena is finished or settled, the last deferred first:
 * what holds memory of its own, but lives as long as the arena. */
void al_arena_defer(struct al_arena *arena, void (*finish)(void *object), void *object);

/* Finishes all that was deferred after `mark`, an earlier `arena->deferred`. */
void al_arena_settle(struct al_arena *arena, const struct al_arena_deferred *mark);

/* Zeroed memory for `count` objects of `size` bytes, aligned for any type. */
void *al_arena_alloc(struct al_arena *arena, size_t count, size_t size);

#define al_new(arena, type) ((type *)al_arena_alloc((arena), 1, sizeof(type)))
#define al_new_array(arena, type, count) ((type *)al_arena_alloc((arena), (count), sizeof(type)))

/* Room for one more item: returns `items`, or a copy of its `count` items with twice the room.
 * `*capacity` is kept up to date; start with NULL and 0. */
void *al_grow(struct al_arena *arena, void *items, size_t count, size_t *capacity, size_t size);

/* The new last item of such a list: `*AL_APPEND(arena, items, n, room) = item`. */
#define AL_APPEND(arena, items, n, room) \
	((items) = al_grow((arena), (items), (n), &(room), sizeof(*(items))), (items) + (n)++)

char *al_strdup(struct al_arena *arena, const char *text);
char *al_strndup(struct al_arena *arena, const char *text, size_t length);
char *al_format(struct al_arena *arena, const char *format, ...) AL_PRINTF(2, 3);
char *al_format_list(struct al_arena *arena, const char *format, va_list args) AL_PRINTF(2, 0);
