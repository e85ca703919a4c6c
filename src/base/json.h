/* Strict JSON (RFC 8259) as a tree: UTF-8 without a byte-order mark, depth 64, no NUL in a string,
 * no lone surrogate, no key twice. Each node knows where in the text it is, for messages.
 *
 * Nodes belong to the document. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct al_text;

enum al_json_kind {
	AL_JSON_NULL,
	AL_JSON_BOOLEAN,
	AL_JSON_NUMBER,
	AL_JSON_TEXT,
	AL_JSON_ARRAY,
	AL_JSON_OBJECT,
};

struct al_item {
	enum al_json_kind kind;
	const char *key; /* of a member; NULL in an array */
	const char *place, *end; /* of the value in the document's text */
	struct al_item *next;
	union {
		bool is_true;
		double number; /* infinite: NaN, or beyond a double's range, too */
		const char *text;
		struct al_item *first; /* child of an array or an object, or NULL */
	};
};

struct al_json {
	const char *name; /* the file's name, for messages */
	char *text;
	size_t length;
	struct al_item *root;
	const char *not_finite; /* the first NaN or Infinity in the text; NULL: none */
	bool is_made; /* the text is in no file: messages name no line of it */
	const struct al_json *base; /* in whose text some of the nodes are; NULL: all are in ours */
	struct al_arena arena;
};

enum { AL_JSON_DEPTH = 64, AL_JSON_FILE_LIMIT = 64 << 20 };

/* A document of the block that it is declared in, which nothing may have been read into yet. */
#define AL_JSON(name) AL_ENDS(al_json_finish) struct al_json name = {0}

/* Parses a copy of the text. On failure nothing is left to finish; the message has
 * name:line:column. */
bool al_json_parse(struct al_json *doc, const char *name, const char *text, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* Does a name mean a file, not something built in: has it a slash, or does it end in .json? */
bool al_json_is_path(const char *name);

/* The node's text; a path is relative to the file that the node is in. */
const char *al_json_beside(const struct al_json *doc, const struct al_item *node,
	struct al_arena *arena);

/* Reads and parses a file of at most AL_JSON_FILE_LIMIT bytes. */
bool al_json_read(struct al_json *doc, const char *path, struct al_error *err) AL_MUST_CHECK;

/* The same of a file that may be Python's, which writes NaN, Infinity and -Infinity as numbers.
 * Reading one of them as a number fails. */
bool al_json_read_python(struct al_json *doc, const char *path, struct al_error *err) AL_MUST_CHECK;

/* Refuses a document with such a number after all. */
bool al_json_check_strict(const struct al_json *doc, struct al_error *err) AL_MUST_CHECK;

void al_json_finish(struct al_json *doc);

enum al_json_kind al_json_kind(const struct al_item *node);
const char *al_json_key(const struct al_item *node); /* of a member; NULL in an array */
size_t al_json_size(const struct al_item *node); /* children of an array or object */
const struct al_item *al_json_first(const struct al_item *node);
const struct al_item *al_json_next(const struct al_item *node);
const struct al_item *al_json_at(const struct al_item *array, size_t index);
const struct al_item *al_json_get(const struct al_item *object,
	const char *key); /* NULL where absent */

#define al_json_each(child, node) \
	for (const struct al_item *child = al_json_first(node); child; child = al_json_next(child))

/* Adds the value as it is written, without the spaces between its parts. */
void al_json_add_compact(struct al_text *out, const struct al_item *node);

/* Fails with "name:line:column: message". */
bool al_json_fail_at(const struct al_json *doc, const char *place, struct al_error *err,
	const char *message);

/* The same, where the node is. */
bool al_json_fail(const struct al_json *doc, const struct al_item *node, struct al_error *err,
	const char *format, ...) AL_PRINTF(4, 5);

/* Puts "name:line:column: " before a message that is already set (a formula's, say). */
bool al_json_in(const struct al_json *doc, const struct al_item *node, struct al_error *err);

/* The value of a node, or an error with what was found and what was expected. */
bool al_json_text(const struct al_json *doc, const struct al_item *node, const char **out,
	struct al_error *err) AL_MUST_CHECK;
bool al_json_boolean(const struct al_json *doc, const struct al_item *node, bool *out,
	struct al_error *err) AL_MUST_CHECK;
/* A whole number within (-2^53, 2^53), where a double is exact. */
bool al_json_whole(const struct al_json *doc, const struct al_item *node, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;
/* A whole number from 0 to 2^63-1, written in plain digits (4e0 is none, whatever its value). */
bool al_json_digits(const struct al_json *doc, const struct al_item *node, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;
/* A whole number as al_json_whole reads it, and at least `least`. */
bool al_json_whole_from(const struct al_json *doc, const struct al_item *node, int64_t least,
	int64_t *out, struct al_error *err) AL_MUST_CHECK;
/* Any finite number. */
bool al_json_real(const struct al_json *doc, const struct al_item *node, double *out,
	struct al_error *err) AL_MUST_CHECK;
/* The index of one of `n` words; -1, and an error that `what` is unknown. */
int al_json_find_word(const struct al_json *doc, const struct al_item *node, const char *what,
	const char *const *words, size_t n, struct al_error *err);
bool al_json_expect(const struct al_json *doc, const struct al_item *node, enum al_json_kind kind,
	struct al_error *err) AL_MUST_CHECK;

/* The same for a member. Where it is absent: `required` fails and names the key; otherwise `*out`
 * is left as it is. */
bool al_json_get_text(const struct al_json *doc, const struct al_item *object, const char *key,
	bool required, const char **out, struct al_error *err) AL_MUST_CHECK;
/* An array or object member; `*out` is NULL where it is absent and not required. */
bool al_json_get_node(const struct al_json *doc, const struct al_item *object, const char *key,
	enum al_json_kind kind, bool required, const struct al_item **out,
	struct al_error *err) AL_MUST_CHECK;

/* Refuses any key that is not among `known`, naming the nearest. "$schema" and "note" are always
 * allowed at any level of our own formats. */
bool al_json_only(const struct al_json *doc, const struct al_item *object, const char *const *known,
	size_t n_known, struct al_error *err) AL_MUST_CHECK;

/* Adds `text` to `out` as a JSON string with its quotes. A byte that isn't UTF-8 (in a file's name)
 * comes out as the four characters \xNN, as in the other formats: JSON can't hold it. */
void al_json_quote(struct al_text *out, const char *text);
