/* Records: JSON objects of our own formats, read by a table of one row a key.
 *
 * The table is a format's whole definition of an object: which keys it may have, which it must
 * have, of what type each is and where it goes. A key that no row names is refused, naming the
 * nearest ("$schema" and "note" are allowed everywhere); then the rows are read in their order, so
 * that a row may lean on what the rows above it have read. An error begins with
 * name:line:column. */
#pragma once

#include "base/arena.h"
#include "base/json.h"

/* Where records are read from and what they live in; `context` is passed to the functions of rows
 * as it is. */
struct al_record_source {
	struct al_arena *arena;
	const struct al_json *doc;
	void *context;
};

enum al_field_type {
	AL_FIELD_TEXT, /* const char *, copied; where there are `words`, one of them */
	AL_FIELD_BOOLEAN, /* bool */
	AL_FIELD_WORD, /* an enum: the index of one of `words`, plus `least` */
	AL_FIELD_WHOLE, /* int64_t: a whole number of at least `least` */
	AL_FIELD_INT, /* int: the same, of at most `most` */
	AL_FIELD_REAL, /* double */
	AL_FIELD_NODE, /* const struct al_item *: the value unchanged, of `kind`, if any */
	AL_FIELD_RECORD, /* what `record` makes of an object */
	AL_FIELD_BY, /* what `read` makes of the value */
	AL_FIELD_LIST, /* a list: a pointer to its items, and how many they are; `or_one` */
	AL_FIELD_MEMBERS, /* the same of an object of any keys; "note" is passed over */
};

struct al_record;

struct al_field {
	const char *key;
	enum al_field_type type;
	size_t offset; /* in the record, of what is set */
	bool is_required;
	bool or_one; /* LIST: what is no list is its only item */
	bool takes_note; /* MEMBERS: "note" is a key like others */
	bool reads_absent; /* BY: `read` is called, with NULL, where the key is absent too */
	int64_t fallback; /* BOOLEAN, WORD, WHOLE, INT: the value where the key is absent */
	int64_t least; /* LIST: items */
	size_t has_offset; /* in the record: a bool, true if the key is there; 0: none */
	size_t or_text; /* RECORD: in the record: for a text instead of an object; 0: none */
	enum al_json_kind kind;

	const char *const *words;
	size_t n_words;

	/* BY: of the value, into what begins at `offset`. LIST and MEMBERS: of each item, where it
	 * isn't a `record` itself; with neither, items are texts. */
	bool (*read)(void *context, const struct al_item *node, void *out, struct al_error *err);
	/* The same of a text, which it looks up; a failure gets the place of the text. */
	bool (*find)(void *context, const char *text, void *out, struct al_error *err);

	const struct al_record *record;
	size_t item_size; /* of what `read` or `find` makes of an item */
	size_t n_offset; /* in the record: a size_t, the number of items */
	size_t most; /* items; 0: any number; INT: the largest */
	const char *noun; /* for messages about how many: "entries"; NULL: "items" */
};

struct al_record {
	const struct al_field *fields;
	size_t n_fields; /* at most AL_RECORD_FIELDS */
	size_t size; /* of the struct */

	/* A check that no row can express, when all are read: of two keys, one and only one. May be
	 * NULL. */
	bool (*check)(void *context, const struct al_item *object, void *record,
		struct al_error *err);
};

enum { AL_RECORD_FIELDS = 64 };

/* How a row begins: {AL_KEY("rank", WHOLE, offsetof(struct al_recipe, rank)), .least = 1}. */
#define AL_KEY(name, kind, at) .key = (name), .type = AL_FIELD_##kind, .offset = (at)

/* Words and how many: `AL_WORDS(names)`. */
#define AL_WORDS(names) .words = (names), .n_words = sizeof(names) / sizeof(*(names))

/* A table and its length: `.fields = AL_FIELDS(table)`. */
#define AL_FIELDS(table) (table), .n_fields = sizeof(table) / sizeof(*(table))

/* `out` is zeroed by the caller. Absent text stays NULL and an absent list has no items. */
bool al_record_read(const struct al_record_source *source, const struct al_record *record,
	const struct al_item *object, void *out, struct al_error *err) AL_MUST_CHECK;

/* Reads a whole list, or the members of an object, by a row of type LIST or MEMBERS, the offsets of
 * which are those in `out`. */
bool al_record_read_items(const struct al_record_source *source, const struct al_field *field,
	const struct al_item *list, void *out, struct al_error *err) AL_MUST_CHECK;
