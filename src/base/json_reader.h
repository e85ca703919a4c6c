/* Strict JSON read in order, without a tree: for headers of many megabytes. What a tree would need
 * 80 bytes for takes none here, and a size is read exactly, as it is written.
 *
 *     al_json_reader_enter(&reader);
 *     while (al_json_reader_member(&reader, &key))
 *         ... read or skip the member's value
 * ... */
#ifndef ATTNLEDGER_BASE_JSON_READER_H
#define ATTNLEDGER_BASE_JSON_READER_H

#include "base/json.h"
#include "base/text.h"

struct al_json_reader {
	const char *name, *text; /* the caller's */
	const char *p, *end; /* what comes next, in a text that is valid JSON */
	struct al_text key, value; /* the last of each, without escapes */
};

/* Scans the whole text, so that all that follows can't meet wrong JSON; the message says
 * name:line:column. On failure nothing is left to finish. */
bool al_json_reader_init(struct al_json_reader *reader, const char *name, const char *text,
	size_t length, struct al_error *err) AL_MUST_CHECK;
void al_json_reader_finish(struct al_json_reader *reader);

/* The kind of the next value. */
enum al_json_kind al_json_reader_kind(const struct al_json_reader *reader);

/* Fails where it is another; `what` is its key, or NULL. */
bool al_json_reader_expect(const struct al_json_reader *reader, enum al_json_kind kind,
	const char *what, struct al_error *err) AL_MUST_CHECK;

/* Steps into the next value, an object or an array. Its members or items follow; after the last
 * one the reader has left it, and the answer is false. The value of each must be read or skipped. A
 * key is good until the next. */
void al_json_reader_enter(struct al_json_reader *reader);
bool al_json_reader_member(struct al_json_reader *reader, const char **key);
bool al_json_reader_item(struct al_json_reader *reader);

/* Moves after the next value. */
void al_json_reader_skip(struct al_json_reader *reader);

/* Reads it: a text, good until the next one; or a whole number from 0 to 2^63-1, written as an
 * integer (4e0 is none, whatever its value). */
bool al_json_reader_text(struct al_json_reader *reader, const char *what, const char **out,
	struct al_error *err) AL_MUST_CHECK;
bool al_json_reader_size(struct al_json_reader *reader, const char *what, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* A number as it is written, good until the next text. */
bool al_json_reader_number(struct al_json_reader *reader, const char *what, const char **out,
	struct al_error *err) AL_MUST_CHECK;

/* Fails with "name:line:column: message", the place being that of the next value, or `place`. */
bool al_json_reader_fail(const struct al_json_reader *reader, const char *place,
	struct al_error *err, const char *format, ...) AL_PRINTF(4, 5);

#endif
