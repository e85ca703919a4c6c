/* A source read byte after byte. */
#include "base/cursor.h"

#include "base/base.h"

void al_cursor_init(struct al_cursor *cursor, const struct al_source *source)
{
	cursor->source = source;
	cursor->at = cursor->begin = 0;
	cursor->n = 0;
}

uint64_t al_cursor_left(const struct al_cursor *cursor)
{
	return cursor->source->bytes - cursor->at;
}

/* The window begins at the next byte. */
static bool fill(struct al_cursor *cursor, struct al_error *err)
{
	const uint64_t left = al_cursor_left(cursor);

	cursor->begin = cursor->at;
	cursor->n = (size_t)al_least(left, AL_CURSOR_WINDOW);
	return al_source_read(cursor->source, cursor->at, cursor->window, cursor->n, err);
}

bool al_cursor_take(struct al_cursor *cursor, void *out, uint64_t n, const char *what,
	struct al_error *err)
{
	if (n > al_cursor_left(cursor))
		return al_fail(err, AL_EINPUT, "%s: ends at byte %" PRIu64 ", within %s",
			cursor->source->path, cursor->source->bytes, what);
	if (!out)
		cursor->at += n;
	for (unsigned char *to = out; to && n > 0;) {
		if (cursor->at >= cursor->begin + cursor->n && !fill(cursor, err))
			return false;
		const unsigned char *from = cursor->window + (cursor->at - cursor->begin);
		const size_t ready = cursor->n - (size_t)(cursor->at - cursor->begin);
		const size_t now = (size_t)al_least(n, ready);
		memcpy(to, from, now);
		to += now;
		cursor->at += now;
		n -= now;
	}
	return true;
}

bool al_cursor_u32(struct al_cursor *cursor, uint32_t *out, const char *what, struct al_error *err)
{
	return al_cursor_take(cursor, out, sizeof(*out), what, err);
}

bool al_cursor_u64(struct al_cursor *cursor, uint64_t *out, const char *what, struct al_error *err)
{
	return al_cursor_take(cursor, out, sizeof(*out), what, err);
}
