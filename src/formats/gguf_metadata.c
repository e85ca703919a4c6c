/* The metadata of a GGUF file: keys and values, as JSON. */
#include "formats/gguf.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

enum { MOST_TEXT = 1 << 26, MOST_ITEMS = 1 << 12 };
enum { SHOWN_BYTES = 200 }; /* of a long text */

enum value_type {
	VALUE_U8,
	VALUE_I8,
	VALUE_U16,
	VALUE_I16,
	VALUE_U32,
	VALUE_I32,
	VALUE_F32,
	VALUE_BOOL,
	VALUE_TEXT,
	VALUE_LIST,
	VALUE_U64,
	VALUE_I64,
	VALUE_F64,
	N_VALUE_TYPES,
};
static const unsigned char value_bytes[N_VALUE_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static bool fail_here(const struct al_gguf *gguf, struct al_error *err, const char *what)
{
	return al_fail(err, AL_EINPUT, "%s: byte %" PRIu64 ": %s",
		gguf->listing->shard->source.path, gguf->cursor.at, what);
}

/* ---- texts ---- */

bool al_gguf_take_text(struct al_gguf *gguf, uint64_t most, const char *what, const char **out,
	struct al_error *err)
{
	uint64_t length;

	if (!al_cursor_u64(&gguf->cursor, &length, what, err))
		return false;
	if (length > most || length > al_cursor_left(&gguf->cursor))
		return al_fail(err, AL_EINPUT, "%s: byte %" PRIu64 ": %s of %" PRIu64 " bytes",
			gguf->listing->shard->source.path, gguf->cursor.at, what, length);
	char *text = al_new_array(gguf->arena, char, (size_t)length + 1);
	*out = text;
	return al_cursor_take(&gguf->cursor, text, length, what, err)
		&& (strlen(text) == length || fail_here(gguf, err, "a text with a NUL in it"));
}

static bool is_utf8(const char *text)
{
	for (const char *p = text, *end = text + strlen(text); p < end;) {
		const size_t n = al_utf8_length(p, (size_t)(end - p));
		if (n == 0)
			return false;
		p += n;
	}
	return true;
}

/* ---- values ---- */

/* A value, as JSON; what JSON has no number for is null. */
static void add_number(struct al_text *out, enum value_type type, const unsigned char bytes[8])
{
	uint64_t whole = 0;
	float single;
	double real = NAN;

	memcpy(&whole, bytes, value_bytes[type]);
	memcpy(&single, bytes, sizeof(single));
	if (type == VALUE_F32)
		real = (double)single;
	else if (type == VALUE_F64)
		memcpy(&real, bytes, sizeof(real));
	const int shift = 64 - 8 * value_bytes[type];
	if (type == VALUE_F32 || type == VALUE_F64)
		al_text_addf(out, isfinite(real) ? "%.*g" : "null", type == VALUE_F32 ? 9 : 17,
			real);
	else if (type == VALUE_BOOL)
		al_text_add(out, whole ? "true" : "false");
	else if (type == VALUE_I8 || type == VALUE_I16 || type == VALUE_I32 || type == VALUE_I64)
		al_text_addf(out, "%" PRId64, (int64_t)(whole << shift) >> shift);
	else
		al_text_addf(out, "%" PRIu64, whole);
}

static bool take_number(struct al_gguf *gguf, enum value_type type, struct al_text *out,
	struct al_error *err)
{
	unsigned char bytes[8] = {0};

	if (!al_cursor_take(&gguf->cursor, bytes, value_bytes[type], "a value", err))
		return false;
	add_number(out, type, bytes);
	return true;
}

static bool take_type(struct al_gguf *gguf, enum value_type *type, struct al_error *err)
{
	uint32_t number;

	if (!al_cursor_u32(&gguf->cursor, &number, "a value's type", err))
		return false;
	*type = (enum value_type)number;
	return number < N_VALUE_TYPES || fail_here(gguf, err, "an unknown type of values");
}

static bool skip_texts(struct al_gguf *gguf, uint64_t n, struct al_error *err)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t length;
		if (!al_cursor_u64(&gguf->cursor, &length, "a list of texts", err)
			|| !al_cursor_take(&gguf->cursor, NULL, length, "a list of texts", err))
			return false;
	}
	return true;
}

/* A short list of numbers, or the length of another one. */
static bool take_list(struct al_gguf *gguf, struct al_gguf_pair *pair, struct al_text *out,
	struct al_error *err)
{
	enum value_type type;
	uint64_t n;

	if (!take_type(gguf, &type, err) || !al_cursor_u64(&gguf->cursor, &n, "a list", err))
		return false;
	if (type == VALUE_LIST)
		return fail_here(gguf, err, "a list of lists");
	const uint64_t least = type == VALUE_TEXT ? 8 : value_bytes[type];
	if (n > al_cursor_left(&gguf->cursor) / least)
		return fail_here(gguf, err, "a list that is longer than the file");
	pair->items_at = gguf->cursor.at;
	pair->n_items = n;
	pair->items_type = (int)type;
	if (type == VALUE_TEXT || n > MOST_ITEMS) {
		al_text_addf(out, "%" PRIu64, n);
		return type == VALUE_TEXT
			? skip_texts(gguf, n, err)
			: al_cursor_take(&gguf->cursor, NULL, n * least, "a list", err);
	}
	al_text_add(out, "[");
	for (uint64_t i = 0; i < n; i++) {
		al_text_add(out, i ? ", " : "");
		if (!take_number(gguf, type, out, err))
			return false;
	}
	al_text_add(out, "]");
	return true;
}

static bool take_value(struct al_gguf *gguf, enum value_type type, struct al_gguf_pair *pair,
	struct al_text *out, struct al_error *err)
{
	if (type == VALUE_LIST)
		return take_list(gguf, pair, out, err);
	if (type != VALUE_TEXT)
		return take_number(gguf, type, out, err);
	if (!al_gguf_take_text(gguf, MOST_TEXT, "a text", &pair->text, err))
		return false;
	if (is_utf8(pair->text))
		al_json_quote(out, pair->text);
	else
		al_text_add(out, "null");
	return true;
}

/* ---- metadata ---- */

const struct al_gguf_pair *al_gguf_find_pair(const struct al_gguf_pair *pairs, uint64_t n,
	const char *key)
{
	for (uint64_t i = 0; i < n; i++)
		if (strcmp(pairs[i].key, key) == 0)
			return &pairs[i];
	return NULL;
}

/* Key i, each once. */
static bool check_key(const struct al_gguf *gguf, uint64_t i, struct al_error *err)
{
	const char *key = gguf->pairs[i].key;

	if (!*key || !is_utf8(key))
		return fail_here(gguf, err, *key ? "a key that isn't UTF-8" : "an empty key");
	return !al_gguf_find_pair(gguf->pairs, i, key)
		|| al_fail(err, AL_EINPUT, "%s: key \"%.120s\" comes twice",
			gguf->listing->shard->source.path, key);
}

static bool check_alignment(struct al_gguf *gguf, enum value_type type,
	const struct al_gguf_pair *pair, struct al_error *err)
{
	if (strcmp(pair->key, "general.alignment") != 0)
		return true;
	gguf->alignment = type == VALUE_U32 ? strtoull(pair->value, NULL, 10) : 0;
	return (gguf->alignment > 0 && (gguf->alignment & (gguf->alignment - 1)) == 0)
		|| al_fail(err, AL_EINPUT,
			"%s: general.alignment is %.40s, expected a power of two of type uint32",
			gguf->listing->shard->source.path, pair->value);
}

static void list_pair(const struct al_gguf *gguf, const struct al_gguf_pair *pair)
{
	const char *shown = pair->text ? pair->text : pair->value;

	if (strlen(shown) > SHOWN_BYTES)
		shown = al_format(gguf->arena, "%zu bytes", strlen(shown));
	al_listing_add_metadata(gguf->listing, pair->key, shown);
}

static bool take_pair(struct al_gguf *gguf, uint64_t i, struct al_error *err)
{
	struct al_gguf_pair *pair = &gguf->pairs[i];
	struct al_text value;
	enum value_type type;

	if (!al_gguf_take_text(gguf, AL_GGUF_MOST_NAME, "a key", &pair->key, err)
		|| !check_key(gguf, i, err) || !take_type(gguf, &type, err))
		return false;
	al_text_init(&value);
	const bool ok = take_value(gguf, type, pair, &value, err);
	pair->value = al_strdup(gguf->arena, value.data);
	al_text_finish(&value);
	if (!ok || !check_alignment(gguf, type, pair, err))
		return false;
	list_pair(gguf, pair);
	return true;
}

/* The least that a pair takes: an empty key, a type, a byte. */
enum { LEAST_PAIR = 13, MOST_PAIRS = 1 << 14 };

bool al_gguf_take_pairs(struct al_gguf *gguf, struct al_error *err)
{
	if (gguf->n_pairs > MOST_PAIRS
		|| gguf->n_pairs > al_cursor_left(&gguf->cursor) / LEAST_PAIR)
		return al_fail(err, AL_EINPUT,
			"%s: %" PRIu64 " keys, expected at most %d and a file that holds them",
			gguf->listing->shard->source.path, gguf->n_pairs, MOST_PAIRS);
	gguf->pairs = al_new_array(gguf->arena, struct al_gguf_pair, (size_t)gguf->n_pairs + 1);
	for (uint64_t i = 0; i < gguf->n_pairs; i++)
		if (!take_pair(gguf, i, err))
			return false;
	return true;
}

/* ---- lists, when somebody asks for them ---- */

struct items {
	struct al_gguf *gguf;
	struct al_listing listing;
	const struct al_gguf_pair *pair;
};

/* False where there is nothing to read. */
static bool items_begin(struct items *items, const struct al_checkpoint *checkpoint,
	const char *key, struct al_arena *arena)
{
	struct al_shard *shard = &checkpoint->shards[0];

	*items = (struct items){.listing.shard = shard,
		.pair = al_gguf_find_pair(shard->pairs, shard->n_pairs, key)};
	if (!items->pair)
		return false;
	items->gguf = al_alloc(1, sizeof(*items->gguf));
	*items->gguf = (struct al_gguf){.listing = &items->listing, .arena = arena};
	al_cursor_init(&items->gguf->cursor, &shard->source, shard->source.bytes);
	items->gguf->cursor.at = items->gguf->cursor.begin = items->pair->items_at;
	return true;
}

static bool check_items(const struct items *items, bool wants_texts, struct al_error *err)
{
	const bool has_texts = items->pair->items_type == VALUE_TEXT;

	return (items->pair->items_at > 0 && has_texts == wants_texts)
		|| al_fail(err, AL_EINPUT, "%s: %s is no list of %s",
			items->listing.shard->source.path, items->pair->key,
			wants_texts ? "texts" : "numbers");
}

bool al_gguf_read_texts(const struct al_checkpoint *checkpoint, const char *key,
	struct al_arena *arena, const char ***out, size_t *n, struct al_error *err)
{
	struct items items;

	*n = 0;
	*out = NULL;
	if (!items_begin(&items, checkpoint, key, arena))
		return true;
	bool ok = check_items(&items, true, err);
	if (ok)
		*out = al_new_array(arena, const char *, (size_t)items.pair->n_items + 1);
	for (; ok && *n < items.pair->n_items; *n += ok)
		ok = al_gguf_take_text(items.gguf, MOST_TEXT, key, &(*out)[*n], err);
	free(items.gguf);
	return ok;
}

static double number_of(enum value_type type, const unsigned char bytes[8])
{
	struct al_text text;

	al_text_init(&text);
	add_number(&text, type, bytes);
	const double number = strcmp(text.data, "null") == 0 ? NAN : strtod(text.data, NULL);
	al_text_finish(&text);
	return number;
}

bool al_gguf_read_numbers(const struct al_checkpoint *checkpoint, const char *key,
	struct al_arena *arena, double **out, size_t *n, struct al_error *err)
{
	struct items items;

	*n = 0;
	*out = NULL;
	if (!items_begin(&items, checkpoint, key, arena))
		return true;
	bool ok = check_items(&items, false, err);
	if (ok)
		*out = al_new_array(arena, double, (size_t)items.pair->n_items + 1);
	for (; ok && *n < items.pair->n_items; *n += ok) {
		unsigned char bytes[8] = {0};
		const enum value_type type = (enum value_type)items.pair->items_type;
		ok = al_cursor_take(&items.gguf->cursor, bytes, value_bytes[type], key, err);
		(*out)[*n] = number_of(type, bytes);
		ok = ok && (isfinite((*out)[*n]) || fail_here(items.gguf, err, "not a number"));
	}
	free(items.gguf);
	return ok;
}
