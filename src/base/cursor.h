/* Cursors: a source read from its beginning, byte after byte, in a window. */
#pragma once

#include "base/file.h"

enum { AL_CURSOR_WINDOW = 16 * 1024 };

struct al_cursor {
	const struct al_source *source;
	uint64_t at; /* the next byte */
	uint64_t begin; /* where the window lies */
	size_t n; /* bytes in the window */
	unsigned char window[AL_CURSOR_WINDOW];
};

void al_cursor_init(struct al_cursor *cursor, const struct al_source *source);

uint64_t al_cursor_left(const struct al_cursor *cursor);

/* Takes the next `n` bytes; with `out` NULL it passes over them. Where the file ends before them:
 * "ends at byte N, within WHAT". */
bool al_cursor_take(struct al_cursor *cursor, void *out, uint64_t n, const char *what,
	struct al_error *err) AL_MUST_CHECK;

/* Whole numbers, little-endian. */
bool al_cursor_u32(struct al_cursor *cursor, uint32_t *out, const char *what,
	struct al_error *err) AL_MUST_CHECK;
bool al_cursor_u64(struct al_cursor *cursor, uint64_t *out, const char *what,
	struct al_error *err) AL_MUST_CHECK;
