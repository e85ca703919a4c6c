/* The metadata of a GGUF file: keys and values, as JSON. */
#include "formats/gguf.h"

#include "base/json.h"

enum { MOST_ITEMS = 1 << 12, SHOWN_BYTES = 200 }; /* of a list, of a long text */

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
/* ... as safetensors calls them */
static const char *const stored[N_VALUE_TYPES] = {"U8", "I8", "U16", "I16", "U32", "I32", "F32",
	"BOOL", NULL, NULL, "U64", "I64", "F64"};

static bool fail_here(const struct al_gguf *gguf, struct al_error *err, const char *what)
{
	return al_fail(err, AL_EINPUT, "%s: byte %" PRIu64 ": %s",
		gguf->listing->shard->source.path, gguf->cursor.at, what);
}

/* ---- texts ---- */

bool al_gguf_take_text(struct al_gguf *gguf, const char *what, const char **out,
	struct al_error *err)
{
	uint64_t length;

	if (!al_cursor_u64(&gguf->cursor, &length, what, err))
		return false;
	if (length > al_cursor_left(&gguf->cursor))
		return al_fail(err, AL_EINPUT, "%s: byte %" PRIu64 ": %s of %" PRIu64 " bytes",
			gguf->listing->shard->source.path, gguf->cursor.at, what, length);
	char *text = al_new_array(gguf->arena, char, (size_t)length + 1);
	*out = text;
	return al_cursor_take(&gguf->cursor, text, length, what, err)
		&& (strlen(text) == length || fail_here(gguf, err, "a string containing a NUL"));
}

static bool is_utf8(const char *text)
{
	return !text[al_utf8_valid(text, strlen(text))];
}

/* ---- values ---- */

/* A value, as JSON; what JSON has no number for is null. */
static bool take_number(struct al_gguf *gguf, enum value_type type, struct al_text *out,
	struct al_error *err)
{
	const struct al_dtype *dtype = al_dtype_stored(stored[type]);
	unsigned char bytes[8] = {0};
	uint64_t whole;
	double number;

	if (!al_cursor_take(&gguf->cursor, bytes, dtype->block_bytes, "a value", err))
		return false;
	memcpy(&whole, bytes, sizeof(whole));
	dtype->to_double(bytes, 1, &number);
	if (type == VALUE_U64)
		al_text_addf(out, "%" PRIu64, whole);
	else if (type == VALUE_I64)
		al_text_addf(out, "%" PRId64, (int64_t)whole);
	else if (type == VALUE_BOOL)
		al_text_add(out, whole ? "true" : "false");
	else if (!isfinite(number))
		al_text_add(out, "null");
	else
		al_text_addf(out, "%.*g",
			type == VALUE_F64	    ? 17
				: type == VALUE_F32 ? 9
						    : 10,
			number);
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
	const uint64_t least = type == VALUE_TEXT ? 8 : al_dtype_stored(stored[type])->block_bytes;
	if (n > al_cursor_left(&gguf->cursor) / least)
		return fail_here(gguf, err, "a list longer than the file");
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
	if (!al_gguf_take_text(gguf, "a text", &pair->text, err))
		return false;
	if (is_utf8(pair->text))
		al_json_quote(out, pair->text);
	else
		al_text_add(out, "null");
	return true;
}

/* ---- metadata ---- */

const struct al_gguf_pair *al_gguf_find_pair(const struct al_shard *shard, const char *key)
{
	for (uint64_t i = 0; i < shard->n_pairs; i++)
		if (strcmp(shard->pairs[i].key, key) == 0)
			return &shard->pairs[i];
	return NULL;
}

/* Each once. */
static bool check_key(const struct al_gguf *gguf, const char *key, struct al_error *err)
{
	if (!*key || !is_utf8(key))
		return fail_here(gguf, err, *key ? "a key that isn't UTF-8" : "an empty key");
	return !al_gguf_find_pair(gguf->listing->shard, key)
		|| al_fail(err, AL_EINPUT, "%s: key \"%.120s\" appears twice",
			gguf->listing->shard->source.path, key);
}

static const char alignment_key[] = "general.alignment";

uint64_t al_gguf_alignment(const struct al_shard *shard)
{
	const struct al_gguf_pair *pair = shard ? al_gguf_find_pair(shard, alignment_key) : NULL;

	return pair ? strtoull(pair->value, NULL, 10) : 32;
}

static bool check_alignment(struct al_gguf *gguf, enum value_type type,
	const struct al_gguf_pair *pair, struct al_error *err)
{
	if (strcmp(pair->key, alignment_key) != 0)
		return true;
	gguf->alignment = type == VALUE_U32 ? strtoull(pair->value, NULL, 10) : 0;
	return (gguf->alignment > 0 && (gguf->alignment & (gguf->alignment - 1)) == 0)
		|| al_fail(err, AL_EINPUT,
			"%s: %s is %.40s, expected a power of two of type uint32",
			gguf->listing->shard->source.path, alignment_key, pair->value);
}

static void list_pair(const struct al_gguf *gguf, const struct al_gguf_pair *pair)
{
	const char *shown = pair->text ? pair->text : pair->value;

	if (strlen(shown) > SHOWN_BYTES)
		shown = al_format(gguf->arena, "%zu bytes", strlen(shown));
	al_listing_add_metadata(gguf->listing, pair->key, shown);
}

static bool take_pair(struct al_gguf *gguf, struct al_gguf_pair *pair, struct al_error *err)
{
	AL_TEXT(value);
	enum value_type type;

	pair->begin = gguf->cursor.at;
	if (!al_gguf_take_text(gguf, "a key", &pair->key, err) || !check_key(gguf, pair->key, err)
		|| !take_type(gguf, &type, err))
		return false;
	if (!take_value(gguf, type, pair, &value, err))
		return false;
	pair->end = gguf->cursor.at;
	pair->value = al_strdup(gguf->arena, value.data);
	if (!check_alignment(gguf, type, pair, err))
		return false;
	list_pair(gguf, pair);
	return true;
}

/* The least that a pair takes: an empty key, a type, a byte. */
enum { LEAST_PAIR = 13 };

bool al_gguf_take_pairs(struct al_gguf *gguf, uint64_t n, struct al_error *err)
{
	struct al_shard *shard = gguf->listing->shard;

	if (n > al_cursor_left(&gguf->cursor) / LEAST_PAIR)
		return al_fail(err, AL_EINPUT, "%s: %" PRIu64 " keys, more than fit into the file",
			shard->source.path, n);
	struct al_gguf_pair *pairs = al_new_array(gguf->arena, struct al_gguf_pair, (size_t)n + 1);
	shard->pairs = pairs;
	for (; shard->n_pairs < n; shard->n_pairs++) {
		if (!take_pair(gguf, &pairs[shard->n_pairs], err))
			return false;
		/* each key was compared with those before it */
		if (!al_budget_take(gguf->arena->budget, shard->n_pairs, err))
			return al_in(err, "%s", shard->source.path);
	}
	return true;
}

/* ---- lists, when somebody asks for them ---- */

static bool take_item(struct al_gguf *gguf, const struct al_dtype *dtype, double *out,
	struct al_error *err)
{
	unsigned char bytes[8];

	if (!al_cursor_take(&gguf->cursor, bytes, dtype->block_bytes, "a list", err))
		return false;
	dtype->to_double(bytes, 1, out);
	return isfinite(*out) || fail_here(gguf, err, "not a number");
}

static bool take_items(struct al_gguf *gguf, const struct al_gguf_pair *pair, bool are_texts,
	struct al_gguf_items *out, struct al_error *err)
{
	const struct al_shard *shard = gguf->listing->shard;
	const size_t n = (size_t)pair->n_items;

	if (pair->items_at == 0 || (pair->items_type == VALUE_TEXT) != are_texts)
		return al_fail(err, AL_EINPUT, "%s: %s is not a list of %s", shard->source.path,
			pair->key, are_texts ? "texts" : "numbers");
	al_cursor_init(&gguf->cursor, &shard->source);
	gguf->cursor.at = gguf->cursor.begin = pair->items_at;
	if (are_texts)
		out->texts = al_new_array(gguf->arena, const char *, n + 1);
	else
		out->numbers = al_new_array(gguf->arena, double, n + 1);
	for (; out->n < n; out->n++)
		if (!(are_texts ? al_gguf_take_text(gguf, pair->key, &out->texts[out->n], err)
				: take_item(gguf, al_dtype_stored(stored[pair->items_type]),
					&out->numbers[out->n], err)))
			return false;
	return true;
}

bool al_gguf_read_items(const struct al_checkpoint *checkpoint, const char *key, bool are_texts,
	struct al_arena *arena, struct al_gguf_items *out, struct al_error *err)
{
	struct al_listing listing = {.shard = &checkpoint->shards[0]};
	const struct al_gguf_pair *pair = al_gguf_find_pair(listing.shard, key);

	*out = (struct al_gguf_items){0};
	if (!pair)
		return true;
	AL_FREED struct al_gguf *gguf = al_alloc(1, sizeof(*gguf));
	*gguf = (struct al_gguf){.listing = &listing, .arena = arena};
	return take_items(gguf, pair, are_texts, out, err);
}
