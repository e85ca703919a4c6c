/* Text: a string that grows, widths in columns, and the nearest known name. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/arena.h"

/* A string that grows. `data` is always NUL-terminated after al_text_init. */
struct al_text {
	char *data;
	size_t length, capacity;
};

/* Texts that somebody else owns. */
struct al_texts {
	const char *const *items;
	size_t n;
};

bool al_ends_with(const char *text, const char *ending);

/* ASCII's, whatever the locale. */
static inline bool al_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool al_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A text of the block that it is declared in: empty at first, freed where the block ends. */
#define AL_TEXT(name) \
	AL_ENDS(al_text_finish) struct al_text name; \
	al_text_init(&(name))

void al_text_init(struct al_text *text);
void al_text_finish(struct al_text *text);

void al_text_add(struct al_text *text, const char *piece);
void al_text_add_bytes(struct al_text *text, const char *bytes, size_t length);
void al_text_add_repeated(struct al_text *text, char c, size_t times);
void al_text_addf(struct al_text *text, const char *format, ...) AL_PRINTF(2, 3);

/* Bytes of the UTF-8 sequence at `text` (shortest form, no surrogates: RFC 3629), at most `left`; 0
 * where there is none. */
size_t al_utf8_length(const char *text, size_t left);

/* How many bytes from the beginning on are whole characters: n where all are. */
size_t al_utf8_valid(const char *text, size_t n);

/* Printable ASCII alone. */
bool al_text_is_plain(const char *text, size_t length);

/* Columns that a UTF-8 text takes on a terminal: one a code point, none for combining marks. */
size_t al_text_columns(const char *utf8);

/* Adds words up to column `page` (0: all on one line), the first at column `at`; further lines
 * begin at column `indent`. */
void al_text_add_wrapped(struct al_text *text, const char *words, size_t at, size_t indent,
	size_t page);

/* A character of a stranger's text. It is printable unless it is a control character (U+009B begins
 * commands on some terminals), changes the direction of what follows, or is a byte that isn't
 * UTF-8. */
struct al_character {
	unsigned code; /* a code point, or the byte */
	size_t bytes; /* in the text, at least 1 */
	bool is_utf8, is_printable;
};

struct al_character al_character_at(const char *text);

enum { AL_ESCAPE_BYTES = 6 };

/* Writes the next character as it may be printed: itself, or \xNN, \uNNNN. `*text` moves past it;
 * `out` takes up to AL_ESCAPE_BYTES, without NUL; returns how many. */
size_t al_escape_control(const char **text, char out[AL_ESCAPE_BYTES]);

/* The known name that a mistyped one most resembles (optimal string alignment distance, at most a
 * third of its length plus one); NULL where none is close. */
const char *al_nearest(const char *name, const char *const *known, size_t n_known);

/* Fails with "unknown WHAT "NAME" (did you mean "NEAREST"?)", or with the list of known names where
 * none is close and the list is short. */
bool al_fail_unknown(struct al_error *err, const char *what, const char *name,
	const char *const *known, size_t n_known);

/* The list with one item more: "a, b". */
const char *al_join(struct al_arena *arena, const char *list, const char *item);

/* Are the texts the same? Most differ in their first character already. */
static inline bool al_is_same(const char *a, const char *b)
{
	return *a == *b && strcmp(a, b) == 0;
}

/* Is `text` one of the `n` names? Its index, or -1. */
int al_find_name(const char *text, const char *const *names, size_t n);

/* The first of `n` items of a size whose first member, a const char *, is the name; or NULL. */
const void *al_find_item(const void *items, size_t n, size_t size, const char *name);
#define AL_FIND(items, n, name) al_find_item((items), (n), sizeof(*(items)), (name))

/* ---- names that are gathered for the message about an unknown one ---- */

struct al_names {
	struct al_arena arena;
	const char **items; /* the names are the caller's */
	size_t n, room;
};

void al_names_init(struct al_names *names);
void al_names_add(struct al_names *names, const char *name);
bool al_names_hold(const struct al_names *names, const char *name);
void al_names_finish(struct al_names *names);

/* Fails as al_fail_unknown does and finishes the names: for `return`. */
bool al_names_fail(struct al_names *names, const char *what, const char *name,
	struct al_error *err);

/* Is the name held? Fails as al_names_fail does if not. Finishes the names either way: for
 * `return`. */
bool al_names_check(struct al_names *names, const char *what, const char *name,
	struct al_error *err) AL_MUST_CHECK;

/* Fails as al_fail_unknown does: known are the names that are the items' first members. */
bool al_fail_unknown_item(struct al_error *err, const char *what, const char *name,
	const void *items, size_t n, size_t size);

/* The first of `n` items of a size whose first member is the name; fails as above where none is. */
const void *al_find_known(const void *items, size_t n, size_t size, const char *what,
	const char *name, struct al_error *err);
#define AL_FIND_KNOWN(items, n, what, name, err) \
	al_find_known((items), (n), sizeof(*(items)), (what), (name), (err))

/* The text as one word of a shell's command: "gpt2", "'my model/'". */
const char *al_shell_word(struct al_arena *arena, const char *text);
