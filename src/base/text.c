/* Text: a string that grows, widths in columns, hashes, and the nearest known name. */

#include <stdarg.h>
#include <strings.h>

#include "base/base.h"
#include "base/embedded.h"
#include "base/hash.h"

enum { NAME_MAX_COMPARED = 63 };

void al_text_init(struct al_text *text)
{
	text->capacity = 256;
	text->length = 0;
	text->data = al_alloc(text->capacity, 1);
	text->data[0] = '\0';
}

void al_text_finish(struct al_text *text)
{
	free(text->data);
	*text = (struct al_text){0};
}

static void reserve(struct al_text *text, size_t more)
{
	size_t needed = text->length + more + 1;

	if (needed <= text->capacity)
		return;
	while (text->capacity < needed)
		text->capacity *= 2;
	text->data = al_realloc(text->data, text->capacity, 1);
}

void al_text_add_bytes(struct al_text *text, const char *bytes, size_t length)
{
	reserve(text, length);
	memcpy(text->data + text->length, bytes, length);
	text->length += length;
	text->data[text->length] = '\0';
}

void al_text_add(struct al_text *text, const char *piece)
{
	al_text_add_bytes(text, piece, strlen(piece));
}

void al_text_add_repeated(struct al_text *text, char c, size_t times)
{
	reserve(text, times);
	memset(text->data + text->length, c, times);
	text->length += times;
	text->data[text->length] = '\0';
}

const char *al_join(struct al_arena *arena, const char *list, const char *item)
{
	return al_format(arena, "%s%s%s", list, *list ? ", " : "", item);
}

bool al_ends_with(const char *text, const char *ending)
{
	const size_t n = strlen(text), n_ending = strlen(ending);

	return n >= n_ending && strcmp(text + n - n_ending, ending) == 0;
}

void al_text_addf(struct al_text *text, const char *format, ...)
{
	const size_t room = text->capacity - text->length;
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(text->data + text->length, room, format, args);
	va_end(args);
	if (length < 0)
		al_memory_exhausted(SIZE_MAX);

	if ((size_t)length >= room) {
		reserve(text, (size_t)length);
		vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
	}
	va_end(again);
	text->length += (size_t)length;
}

static bool is_combining(const unsigned char *p)
{
	/* U+0300..U+036F: 0xCC 0x80 .. 0xCD 0xAF */
	return p[0] == 0xCC || (p[0] == 0xCD && p[1] <= 0xAF);
}

size_t al_utf8_length(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n = p[0] < 0x80		       ? 1
		: p[0] >= 0xC2 && p[0] <= 0xDF ? 2
		: (p[0] & 0xF0) == 0xE0	       ? 3
		: p[0] >= 0xF0 && p[0] <= 0xF4 ? 4
					       : 0;

	if (n == 0 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F)
		|| (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
		return 0;
	return n;
}

size_t al_utf8_valid(const char *text, size_t n)
{
	size_t at = 0, length;

	while (at < n && (length = al_utf8_length(text + at, n - at)) > 0)
		at += length;
	return at;
}

bool al_text_is_plain(const char *text, size_t length)
{
	unsigned n_others = 0;

	for (size_t i = 0; i < length; i++) /* without a branch: many bytes at once */
		n_others |= (unsigned char)(text[i] - ' ') > '~' - ' ';
	return n_others == 0;
}

size_t al_text_columns(const char *utf8)
{
	const size_t length = strlen(utf8);
	size_t columns = 0;

	if (al_text_is_plain(utf8, length))
		return length;
	for (const unsigned char *p = (const unsigned char *)utf8; *p; p++)
		if ((*p & 0xC0) != 0x80 && !is_combining(p))
			columns++;
	return columns;
}

void al_text_add_wrapped(struct al_text *text, const char *words, size_t at, size_t indent,
	size_t page)
{
	for (const char *gap = ""; *words; gap = " ") {
		const size_t begin = text->length, n = strcspn(words, " ");
		al_text_add(text, gap);
		al_text_add_bytes(text, words, n);
		at += al_text_columns(text->data + begin);
		if (page > 0 && *gap && at > page) {
			text->length = begin;
			al_text_add(text, "\n");
			al_text_add_repeated(text, ' ', indent);
			al_text_add_bytes(text, words, n);
			at = al_text_columns(text->data + begin + 1);
		}
		words += n + strspn(words + n, " ");
	}
}

/* The code point of a UTF-8 sequence of `n` bytes. */
static unsigned code_point(const char *text, size_t n)
{
	static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	unsigned code = (unsigned char)text[0] & first_bits[n];

	for (size_t i = 1; i < n; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3F);
	return code;
}

/* U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069: Bidi_Control in Unicode's
 * PropList.txt. They change the order in which a line is shown. */
static bool is_bidi_control(unsigned code)
{
	return code == 0x061C || code == 0x200E || code == 0x200F
		|| (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

struct al_character al_character_at(const char *text)
{
	if (text[0] >= 0x20 && text[0] < 0x7F) /* nearly all of them */
		return (struct al_character){.code = (unsigned char)text[0],
			.bytes = 1,
			.is_utf8 = true,
			.is_printable = true};

	size_t n = al_utf8_length(text, strnlen(text, 4));
	unsigned code = n ? code_point(text, n) : (unsigned char)text[0];
	bool is_control = code < 0x20 || (code >= 0x7F && code < 0xA0) || is_bidi_control(code);

	return (struct al_character){.code = code,
		.bytes = n ? n : 1,
		.is_utf8 = n > 0,
		.is_printable = n && !is_control};
}

size_t al_escape_control(const char **text, char out[AL_ESCAPE_BYTES])
{
	static const char hex[] = "0123456789abcdef";
	struct al_character c = al_character_at(*text);
	size_t digits = c.code > 0xFF ? 4 : 2;

	memcpy(out, *text, c.bytes);
	*text += c.bytes;
	if (c.is_printable)
		return c.bytes;
	out[0] = '\\';
	out[1] = digits == 4 ? 'u' : 'x';
	for (size_t i = 0; i < digits; i++)
		out[2 + i] = hex[c.code >> 4 * (digits - 1 - i) & 15];
	return 2 + digits;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbors. */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	size_t rows[3][NAME_MAX_COMPARED + 1];
	size_t *before = rows[0], *previous = rows[1], *current = rows[2];

	for (size_t j = 0; j <= n_b; j++)
		previous[j] = j;
	for (size_t i = 1; i <= n_a; i++) {
		current[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			size_t d = previous[j - 1] + (a[i - 1] != b[j - 1]);
			d = al_least(d, al_least(previous[j], current[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = al_least(d, before[j - 2] + 1);
			current[j] = d;
		}
		size_t *recycled = before;
		before = previous;
		previous = current;
		current = recycled;
	}
	return previous[n_b];
}

const char *al_nearest(const char *name, const char *const *known, size_t n_known)
{
	size_t length = strlen(name);
	size_t best = length / 3 + 2;
	const char *nearest = NULL;

	if (length > NAME_MAX_COMPARED)
		return NULL;
	for (size_t i = 0; i < n_known; i++) {
		size_t n = strlen(known[i]);
		if (n > NAME_MAX_COMPARED)
			continue;
		size_t distance = edit_distance(name, length, known[i], n);
		if (distance < best) {
			best = distance;
			nearest = known[i];
		}
	}
	return nearest;
}

/* "llama" -> "llama-3-70b" or "llama-3-8b": a few names that begin like this. */
static bool fail_short(struct al_error *err, const char *what, const char *name,
	const char *const *known, size_t n_known)
{
	enum { LEAST_LENGTH = 3, MOST_NAMES = 8 };
	const size_t length = strlen(name);
	size_t n = 0;

	if (length < LEAST_LENGTH)
		return false;
	AL_TEXT(list);
	for (size_t i = 0; i < n_known; i++)
		if (strncasecmp(known[i], name, length) == 0 && al_find_name(known[i], known, i) < 0
			&& n++ < MOST_NAMES)
			al_text_addf(&list, "%s\"%s\"", n > 1 ? " or " : "", known[i]);
	if (n > 0 && n <= MOST_NAMES)
		al_fail(err, AL_EINPUT, "unknown %s \"%s\" (did you mean %s?)", what, name,
			list.data);
	return n > 0 && n <= MOST_NAMES;
}

bool al_fail_unknown(struct al_error *err, const char *what, const char *name,
	const char *const *known, size_t n_known)
{
	const char *nearest = al_nearest(name, known, n_known);

	if (fail_short(err, what, name, known, n_known))
		return false;
	if (nearest)
		return al_fail(err, AL_EINPUT, "unknown %s \"%s\" (did you mean \"%s\"?)", what,
			name, nearest);

	if (n_known == 0)
		return al_fail(err, AL_EINPUT, "unknown %s \"%s\" (there are none)", what, name);

	AL_TEXT(list);
	size_t n = 0;
	for (; n < n_known && list.length < 300; n++)
		al_text_addf(&list, "%s%s", n ? ", " : "", known[n]);
	al_fail(err, AL_EINPUT, "unknown %s \"%s\" (known: %s%s)", what, name, list.data,
		n < n_known ? ", ..." : "");
	return false;
}

int al_find_name(const char *text, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (al_is_same(text, names[i]))
			return (int)i;
	return -1;
}

const void *al_find_item(const void *items, size_t n, size_t size, const char *name)
{
	for (const char *item = items; n > 0; item += size, n--)
		if (al_is_same(*(const char *const *)(const void *)item, name))
			return item;
	return NULL;
}

/* ---- hashes, and files in the program ---- */

enum { N_HASH_DIGITS = 16 };

uint64_t al_hash(uint64_t hash, const void *bytes, size_t length)
{
	for (const unsigned char *p = bytes, *end = p + length; p < end; p++)
		hash = AL_HASH_BYTE(hash, *p);
	return hash;
}

uint64_t al_hash_block(uint64_t hash, const unsigned char *bytes, size_t length)
{
	enum { N_LANES = 4 };
	uint64_t lanes[N_LANES] = {hash, ~hash, hash + 1, ~hash + 1}, words[N_LANES];
	size_t done = 0;

	for (; length - done >= sizeof(words); done += sizeof(words)) {
		memcpy(words, bytes + done, sizeof(words));
		for (size_t i = 0; i < N_LANES; i++) {
			lanes[i] = (lanes[i] ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
			lanes[i] = lanes[i] << 29 | lanes[i] >> 35;
		}
	}
	return al_hash(al_hash(hash, lanes, sizeof(lanes)), bytes + done, length - done);
}

char *al_fingerprint_text(struct al_arena *arena, uint64_t fingerprint)
{
	return al_format(arena, "%0*" PRIx64, N_HASH_DIGITS, fingerprint);
}

bool al_fingerprint_read(const char *text, uint64_t *out)
{
	if (strspn(text, "0123456789abcdef") != N_HASH_DIGITS || text[N_HASH_DIGITS] != '\0')
		return false;
	*out = strtoull(text, NULL, 16);
	return true;
}

const struct al_embedded *al_embedded_find(const struct al_embedded_list *list, const char *name)
{
	for (size_t i = 0; i < list->n_files; i++)
		if (strcmp(list->files[i].name, name) == 0)
			return &list->files[i];
	return NULL;
}

/* ---- names that are gathered ---- */

void al_names_init(struct al_names *names)
{
	*names = (struct al_names){0};
	al_arena_init(&names->arena);
}

void al_names_add(struct al_names *names, const char *name)
{
	*AL_APPEND(&names->arena, names->items, names->n, names->room) = name;
}

bool al_names_hold(const struct al_names *names, const char *name)
{
	return al_find_name(name, names->items, names->n) >= 0;
}

void al_names_finish(struct al_names *names)
{
	al_arena_finish(&names->arena);
	*names = (struct al_names){0};
}

bool al_names_fail(struct al_names *names, const char *what, const char *name, struct al_error *err)
{
	al_fail_unknown(err, what, name, names->items, names->n);
	al_names_finish(names);
	return false;
}

bool al_names_check(struct al_names *names, const char *what, const char *name,
	struct al_error *err)
{
	if (!al_names_hold(names, name))
		return al_names_fail(names, what, name, err);
	al_names_finish(names);
	return true;
}

bool al_fail_unknown_item(struct al_error *err, const char *what, const char *name,
	const void *items, size_t n, size_t size)
{
	struct al_names names;

	al_names_init(&names);
	for (const char *item = items; n > 0; item += size, n--)
		al_names_add(&names, *(const char *const *)(const void *)item);
	return al_names_fail(&names, what, name, err);
}

const void *al_find_known(const void *items, size_t n, size_t size, const char *what,
	const char *name, struct al_error *err)
{
	const void *found = al_find_item(items, n, size, name);

	if (!found)
		al_fail_unknown_item(err, what, name, items, n, size);
	return found;
}

/* ---- words for a shell ---- */

static bool is_shell_plain(const char *word)
{
	for (const char *p = word; *p; p++)
		if (!(al_is_letter(*p) || al_is_digit(*p) || strchr("_-./,:=%+@", *p)))
			return false;
	return *word;
}

static bool is_printable(const char *text)
{
	for (struct al_character c; *text; text += c.bytes) {
		c = al_character_at(text);
		if (!c.is_printable)
			return false;
	}
	return true;
}

/* Unprintable characters are escaped in $'...' (POSIX 2024). */
const char *al_shell_word(struct al_arena *arena, const char *text)
{
	const bool escapes = !is_printable(text);
	char piece[AL_ESCAPE_BYTES];

	if (is_shell_plain(text))
		return text;
	AL_TEXT(word);
	al_text_add(&word, escapes ? "$'" : "'");
	while (*text)
		if (*text == '\'' || (escapes && *text == '\\'))
			al_text_add(&word, *text++ == '\\' ? "\\\\" : escapes ? "\\'" : "'\\''");
		else {
			const size_t length = al_escape_control(&text, piece);
			al_text_add_bytes(&word, piece, length);
		}
	al_text_add(&word, "'");
	return al_strdup(arena, word.data);
}
