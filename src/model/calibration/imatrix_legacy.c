/* The .dat form of importance matrices. It names nothing of itself: what doesn't fit to the last
 * byte isn't one. */
#include "model/calibration/imatrix.h"

#include "base/cursor.h"

enum { MOST_ENTRIES = 1 << 16, MOST_NAME = 1 << 10, LEAST_ENTRY = 17 };

static bool take(struct al_cursor *cursor, int32_t *out, const char *what, struct al_error *err)
{
	return al_cursor_take(cursor, out, sizeof(*out), what, err);
}

static bool refuse(const struct al_cursor *cursor, int32_t found, const char *what,
	struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: byte %" PRIu64 ": %" PRId32 " %s: is it an imatrix?",
		cursor->source->path, cursor->at - sizeof(found), found, what);
}

static bool take_name(struct al_imatrix *imatrix, struct al_cursor *cursor, const char **out,
	struct al_error *err)
{
	int32_t length;

	if (!take(cursor, &length, "an entry", err))
		return false;
	if (length < 1 || length > MOST_NAME)
		return refuse(cursor, length, "bytes of a weight's name", err);
	char *name = al_new_array(&imatrix->arena, char, (size_t)length + 1);
	*out = name;
	return al_cursor_take(cursor, name, (size_t)length, "a weight's name", err)
		&& ((strlen(name) == (size_t)length
			    && al_utf8_valid(name, (size_t)length) == (size_t)length)
			|| al_fail(err, AL_EINPUT,
				"%s: byte %" PRIu64
				": the name of a weight isn't text: is it an imatrix?",
				imatrix->path, cursor->at - (uint64_t)length));
}

static bool take_entry(struct al_imatrix *imatrix, struct al_cursor *cursor,
	struct al_imatrix_entry *entry, struct al_error *err)
{
	struct {
		int32_t calls, n;
	} sizes;

	if (!take_name(imatrix, cursor, &entry->name, err)
		|| !al_cursor_take(cursor, &sizes, sizeof(sizes), "an entry", err))
		return false;
	if (sizes.calls < 0 || sizes.n < 1)
		return al_fail(err, AL_EINPUT,
			"%s: byte %" PRIu64 ": %" PRId32 " mean squares of a weight from %" PRId32
			" calls: is it an imatrix?",
			imatrix->path, cursor->at - sizeof(sizes), sizes.n, sizes.calls);
	*entry = (struct al_imatrix_entry){.name = entry->name,
		.width = sizes.n,
		.n_matrices = 1,
		.source = &imatrix->source,
		.squares = cursor->at,
		.calls = sizes.calls};
	return al_cursor_take(cursor, NULL, 4 * (uint64_t)sizes.n, entry->name, err);
}

/* Calls and dataset, which old files don't have. */
static bool take_end(const struct al_imatrix *imatrix, struct al_cursor *cursor,
	struct al_error *err)
{
	int32_t calls, length;

	if (al_cursor_left(cursor) == 0)
		return true;
	if (!take(cursor, &calls, "the number of calls", err))
		return false;
	if (al_cursor_left(cursor) == 0)
		return true;
	if (!take(cursor, &length, "the dataset's name", err))
		return false;
	return (length >= 0 && al_cursor_left(cursor) == (uint64_t)length)
		|| al_fail(err, AL_EINPUT,
			"%s: byte %" PRIu64 ": a dataset's name of %" PRId32 " bytes, %" PRIu64
			" are left",
			imatrix->path, cursor->at, length, al_cursor_left(cursor));
}

bool al_imatrix_list_legacy(struct al_imatrix *imatrix, struct al_error *err)
{
	struct al_cursor cursor;
	int32_t n;

	if (!al_source_open(&imatrix->source, imatrix->path, err))
		return false;
	al_cursor_init(&cursor, &imatrix->source);
	if (!take(&cursor, &n, "the number of entries", err))
		return false;
	if (n < 1 || n > MOST_ENTRIES || (uint64_t)n > al_cursor_left(&cursor) / LEAST_ENTRY)
		return refuse(&cursor, n, "entries", err);
	imatrix->entries = al_new_array(&imatrix->arena, struct al_imatrix_entry, (size_t)n);
	for (; imatrix->n_entries < (size_t)n; imatrix->n_entries++)
		if (!take_entry(imatrix, &cursor, &imatrix->entries[imatrix->n_entries], err))
			return false;
	return take_end(imatrix, &cursor, err);
}
