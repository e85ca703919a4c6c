/* GGUF, versions 2 and 3 (llama.cpp; gguf.md in ggml's docs): metadata, the list of tensors, and
 * the tensors, each at a multiple of the alignment, one after the other.
 *
 * The metadata become the config.json that the file doesn't have beside it: {"model_type":
 * "gguf_ARCHITECTURE", ...}, where the key ARCHITECTURE.attention.head_count is
 * attention_head_count, and tokenizer.ggml.KEY is KEY. A list of texts, or one of more numbers than
 * a model has layers, is its length. What only the list of tensors says is said by vocab_size,
 * tie_word_embeddings and rope_freqs. What reference
 * readers disagree on is refused. Dimensions stand the other way round, the one that runs fastest
 * first. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "checkpoint/format.h"

enum { MOST_DIMS = 4, MOST_NAME = 1 << 16, MOST_TEXT = 1 << 26, MOST_ITEMS = 1 << 12 };
enum { MOST_HEADER = 1 << 28, MOST_TENSORS = 1 << 20 };
enum { SHOWN_BYTES = 200 }; /* of a long text of the metadata */

/* Our name of each type of tensors; NULL: was removed, or never was. */
static const char *const tensor_types[] = {"f32", "f16", "q4_0", "q4_1", NULL, NULL, "q5_0", "q5_1",
	"q8_0", "q8_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k", "iq2_xxs", "iq2_xs",
	"iq3_xxs", "iq1_s", "iq4_nl", "iq3_s", "iq2_s", "iq4_xs", "int8", "i16", "i32", "i64",
	"f64", "iq1_m", "bf16", NULL, NULL, NULL, "tq1_0", "tq2_0", NULL, NULL, NULL, "mxfp4",
	"nvfp4", "q1_0", "q2_0"};

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

/* What a key stands for: as JSON, and where it is a text that itself. */
struct pair {
	const char *key, *value, *text;
};

struct file {
	struct al_listing *listing;
	struct al_cursor cursor;
	struct al_arena *arena; /* the checkpoint's */
	struct pair *pairs; /* [n_pairs] */
	uint64_t n_pairs, n_tensors, alignment;
};

static bool fail(const struct file *file, struct al_error *err, const char *what)
{
	return al_fail(err, AL_EINPUT, "%s: byte %" PRIu64 ": %s",
		file->listing->shard->source.path, file->cursor.at, what);
}

/* ---- texts ---- */

/* Takes a text of at most `most` bytes. A NUL in it would cut it. */
static bool take_text(struct file *file, uint64_t most, const char *what, const char **out,
	struct al_error *err)
{
	uint64_t length;

	if (!al_cursor_u64(&file->cursor, &length, what, err))
		return false;
	if (length > most || length > al_cursor_left(&file->cursor))
		return al_fail(err, AL_EINPUT, "%s: byte %" PRIu64 ": %s of %" PRIu64 " bytes",
			file->listing->shard->source.path, file->cursor.at, what, length);
	char *text = al_new_array(file->arena, char, (size_t)length + 1);
	*out = text;
	return al_cursor_take(&file->cursor, text, length, what, err)
		&& (strlen(text) == length || fail(file, err, "a text with a NUL in it"));
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

static bool take_number(struct file *file, enum value_type type, struct al_text *out,
	struct al_error *err)
{
	unsigned char bytes[8] = {0};

	if (!al_cursor_take(&file->cursor, bytes, value_bytes[type], "a value", err))
		return false;
	add_number(out, type, bytes);
	return true;
}

static bool take_type(struct file *file, enum value_type *type, struct al_error *err)
{
	uint32_t number;

	if (!al_cursor_u32(&file->cursor, &number, "a value's type", err))
		return false;
	*type = (enum value_type)number;
	return number < N_VALUE_TYPES || fail(file, err, "an unknown type of values");
}

static bool skip_texts(struct file *file, uint64_t n, struct al_error *err)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t length;
		if (!al_cursor_u64(&file->cursor, &length, "a list of texts", err)
			|| !al_cursor_take(&file->cursor, NULL, length, "a list of texts", err))
			return false;
	}
	return true;
}

/* A short list of numbers, or the length of another one. */
static bool take_list(struct file *file, struct al_text *out, struct al_error *err)
{
	enum value_type type;
	uint64_t n;

	if (!take_type(file, &type, err) || !al_cursor_u64(&file->cursor, &n, "a list", err))
		return false;
	if (type == VALUE_LIST)
		return fail(file, err, "a list of lists");
	const uint64_t least = type == VALUE_TEXT ? 8 : value_bytes[type];
	if (n > al_cursor_left(&file->cursor) / least)
		return fail(file, err, "a list that is longer than the file");
	if (type == VALUE_TEXT || n > MOST_ITEMS) {
		al_text_addf(out, "%" PRIu64, n);
		return type == VALUE_TEXT
			? skip_texts(file, n, err)
			: al_cursor_take(&file->cursor, NULL, n * least, "a list", err);
	}
	al_text_add(out, "[");
	for (uint64_t i = 0; i < n; i++) {
		al_text_add(out, i ? ", " : "");
		if (!take_number(file, type, out, err))
			return false;
	}
	al_text_add(out, "]");
	return true;
}

static bool take_value(struct file *file, enum value_type type, struct al_text *out,
	const char **text, struct al_error *err)
{
	if (type == VALUE_LIST)
		return take_list(file, out, err);
	if (type != VALUE_TEXT)
		return take_number(file, type, out, err);
	if (!take_text(file, MOST_TEXT, "a text", text, err))
		return false;
	if (is_utf8(*text))
		al_json_quote(out, *text);
	else
		al_text_add(out, "null");
	return true;
}

/* ---- metadata ---- */

static const struct pair *find_pair(const struct file *file, uint64_t n, const char *key)
{
	for (uint64_t i = 0; i < n; i++)
		if (strcmp(file->pairs[i].key, key) == 0)
			return &file->pairs[i];
	return NULL;
}

/* Key i, each once. */
static bool check_key(const struct file *file, uint64_t i, struct al_error *err)
{
	const char *key = file->pairs[i].key;

	if (!*key || !is_utf8(key))
		return fail(file, err, *key ? "a key that isn't UTF-8" : "an empty key");
	return !find_pair(file, i, key)
		|| al_fail(err, AL_EINPUT, "%s: key \"%.120s\" comes twice",
			file->listing->shard->source.path, key);
}

static bool check_alignment(struct file *file, enum value_type type, const struct pair *pair,
	struct al_error *err)
{
	if (strcmp(pair->key, "general.alignment") != 0)
		return true;
	file->alignment = type == VALUE_U32 ? strtoull(pair->value, NULL, 10) : 0;
	return (file->alignment > 0 && (file->alignment & (file->alignment - 1)) == 0)
		|| al_fail(err, AL_EINPUT,
			"%s: general.alignment is %.40s, expected a power of two of type uint32",
			file->listing->shard->source.path, pair->value);
}

static void list_pair(const struct file *file, const struct pair *pair)
{
	const char *shown = pair->text ? pair->text : pair->value;

	if (strlen(shown) > SHOWN_BYTES)
		shown = al_format(file->arena, "%zu bytes", strlen(shown));
	al_listing_add_metadata(file->listing, pair->key, shown);
}

static bool take_pair(struct file *file, uint64_t i, struct al_error *err)
{
	struct pair *pair = &file->pairs[i];
	struct al_text value;
	enum value_type type;

	if (!take_text(file, MOST_NAME, "a key", &pair->key, err) || !check_key(file, i, err)
		|| !take_type(file, &type, err))
		return false;
	al_text_init(&value);
	const bool ok = take_value(file, type, &value, &pair->text, err);
	pair->value = al_strdup(file->arena, value.data);
	al_text_finish(&value);
	if (!ok || !check_alignment(file, type, pair, err))
		return false;
	list_pair(file, pair);
	return true;
}

/* The least that a pair takes: an empty key, a type, a byte. */
enum { LEAST_PAIR = 13, MOST_PAIRS = 1 << 14 };

static bool take_pairs(struct file *file, struct al_error *err)
{
	if (file->n_pairs > MOST_PAIRS
		|| file->n_pairs > al_cursor_left(&file->cursor) / LEAST_PAIR)
		return al_fail(err, AL_EINPUT,
			"%s: %" PRIu64 " keys, expected at most %d and a file that holds them",
			file->listing->shard->source.path, file->n_pairs, MOST_PAIRS);
	file->pairs = al_new_array(file->arena, struct pair, (size_t)file->n_pairs + 1);
	for (uint64_t i = 0; i < file->n_pairs; i++)
		if (!take_pair(file, i, err))
			return false;
	return true;
}

/* ---- tensors ---- */

struct info {
	const char *name;
	const struct al_dtype *dtype;
	int64_t shape[MOST_DIMS];
	uint32_t n_dims;
	uint64_t offset;
};

static bool take_shape(struct file *file, struct info *info, struct al_error *err)
{
	uint64_t dims[MOST_DIMS] = {0};

	if (!al_cursor_u32(&file->cursor, &info->n_dims, "a tensor's dimensions", err))
		return false;
	if (info->n_dims > MOST_DIMS)
		return al_fail(err, AL_EINPUT, "%" PRIu32 " dimensions, expected at most %d",
			info->n_dims, MOST_DIMS);
	for (uint32_t i = 0; i < info->n_dims; i++) {
		if (!al_cursor_u64(&file->cursor, &dims[i], "a tensor's dimensions", err))
			return false;
		if (dims[i] > INT64_MAX)
			return al_fail(err, AL_EINPUT, "a dimension of %" PRIu64, dims[i]);
		info->shape[info->n_dims - 1 - i] = (int64_t)dims[i];
	}
	return true;
}

static bool take_tensor_type(struct file *file, struct info *info, struct al_error *err)
{
	uint32_t type;

	if (!al_cursor_u32(&file->cursor, &type, "a tensor's type", err))
		return false;
	const bool is_known = type < sizeof(tensor_types) / sizeof(*tensor_types)
		&& tensor_types[type];
	if (!is_known)
		return al_fail(err, AL_EINPUT, "type %" PRIu32 ", which ggml doesn't have", type);
	info->dtype = al_dtype_named(tensor_types[type]);
	const int64_t row = info->n_dims ? info->shape[info->n_dims - 1] : 1;
	return row % (int64_t)info->dtype->block_elements == 0
		|| al_fail(err, AL_EINPUT,
			"rows of %" PRId64 " numbers are no whole blocks of %zu (%s)", row,
			info->dtype->block_elements, al_dtype_title(info->dtype));
}

static bool take_info(struct file *file, struct info *info, struct al_error *err)
{
	if (!take_text(file, MOST_NAME, "a tensor's name", &info->name, err))
		return false;
	return (take_shape(file, info, err) && take_tensor_type(file, info, err)
		       && al_cursor_u64(&file->cursor, &info->offset, "a tensor's place", err))
		|| al_in(err, "%s: tensor \"%.120s\"", file->listing->shard->source.path,
			info->name);
}

static uint64_t align(const struct file *file, uint64_t bytes)
{
	return (bytes + file->alignment - 1) & ~(file->alignment - 1);
}

static int64_t elements_of(const struct info *info)
{
	int64_t n = 1;

	for (uint32_t i = 0; i < info->n_dims; i++)
		if (__builtin_mul_overflow(n, info->shape[i], &n))
			return -1;
	return n;
}

/* Tensors follow each other without holes but for the alignment: that is what llama.cpp accepts. */
static bool add_tensor(struct file *file, const struct info *info, uint64_t *expected,
	struct al_error *err)
{
	const int64_t n = elements_of(info);
	uint64_t bytes;

	if (n < 0 || !al_dtype_size(info->dtype, n, &bytes) || bytes > INT64_MAX)
		return al_fail(err, AL_EINPUT, "%s: tensor \"%.120s\": its bytes are 2^63 or more",
			file->listing->shard->source.path, info->name);
	if (info->offset != *expected)
		return al_fail(err, AL_EINPUT,
			"%s: tensor \"%.120s\" begins at byte %" PRIu64
			" of the data, expected %" PRIu64,
			file->listing->shard->source.path, info->name, info->offset, *expected);
	const struct al_claim claim = {.name = info->name,
		.dtype = info->dtype,
		.shape = info->shape,
		.n_dims = info->n_dims,
		.begin = info->offset,
		.end = info->offset + bytes};
	*expected = align(file, claim.end);
	return al_listing_add(file->listing, &claim, err);
}

/* The least that a tensor takes: an empty name, no dimensions, a type, a place. */
enum { LEAST_TENSOR = 24 };

static bool take_tensors(struct file *file, struct al_error *err)
{
	struct al_shard *shard = file->listing->shard;
	uint64_t expected = 0;

	if (file->n_tensors > MOST_TENSORS
		|| file->n_tensors > al_cursor_left(&file->cursor) / LEAST_TENSOR)
		return al_fail(err, AL_EINPUT,
			"%s: %" PRIu64 " tensors, more than the file can list", shard->source.path,
			file->n_tensors);
	struct info *infos = al_new_array(file->arena, struct info, (size_t)file->n_tensors + 1);
	for (uint64_t i = 0; i < file->n_tensors; i++)
		if (!take_info(file, &infos[i], err))
			return false;
	shard->header_hash = file->cursor.hash;
	shard->header_bytes = file->cursor.at;
	file->listing->data_offset = align(file, file->cursor.at);
	if (file->n_tensors && file->listing->data_offset > shard->source.bytes)
		return al_fail(err, AL_EINPUT, "%s: ends at byte %" PRIu64 ", before its data",
			shard->source.path, shard->source.bytes);
	if (file->n_tensors == 0)
		file->listing->data_offset = shard->header_bytes;
	for (uint64_t i = 0; i < file->n_tensors; i++)
		if (!add_tensor(file, &infos[i], &expected, err))
			return false;
	return true;
}

/* ---- the file ---- */

static bool check_version(const struct file *file, uint32_t version, struct al_error *err)
{
	const char *path = file->listing->shard->source.path;

	if (version == 2 || version == 3)
		return true;
	if (version != 0 && (version & 0xFFFF) == 0)
		return al_fail(err, AL_EINPUT,
			"%s: a GGUF file with the bytes the other way round", path);
	return al_fail(err, AL_EINPUT, "%s: GGUF version %" PRIu32 ", expected 2 or 3", path,
		version);
}

static bool take_all(struct file *file, struct al_error *err)
{
	uint32_t magic, version;

	return al_cursor_u32(&file->cursor, &magic, "the header", err)
		&& al_cursor_u32(&file->cursor, &version, "the header", err)
		&& check_version(file, version, err)
		&& al_cursor_u64(&file->cursor, &file->n_tensors, "the header", err)
		&& al_cursor_u64(&file->cursor, &file->n_pairs, "the header", err)
		&& take_pairs(file, err) && take_tensors(file, err);
}

/* ---- the config.json that it makes ---- */

/* What stands for a key in it; NULL: nothing. */
static const char *config_key(const struct file *file, const char *key, const char *prefix)
{
	const size_t length = strlen(prefix);

	if (strncmp(key, prefix, length) != 0 || !key[length])
		return NULL;
	char *name = al_strdup(file->arena, key + length);
	for (char *p = name; *p; p++)
		*p = *p == '.' ? '_' : *p;
	return name;
}

static void add_to_config(struct al_text *config, const char *key, const char *value)
{
	if (!key)
		return;
	al_text_add(config, ", ");
	al_json_quote(config, key);
	al_text_addf(config, ": %s", value);
}

static const struct al_tensor *find_tensor(const struct al_listing *listing, const char *name)
{
	const struct al_checkpoint *checkpoint = listing->checkpoint;

	for (size_t i = listing->first; i < checkpoint->n_tensors; i++)
		if (strcmp(checkpoint->tensors[i].name, name) == 0)
			return &checkpoint->tensors[i];
	return NULL;
}

/* What only the list of tensors says. */
static void add_facts(const struct file *file, const char *vocab_key, struct al_text *config)
{
	const struct al_tensor *tokens = find_tensor(file->listing, "token_embd.weight");

	if (!find_pair(file, file->n_pairs, vocab_key) && tokens && tokens->n_dims == 2)
		add_to_config(config, "vocab_size",
			al_format(file->arena, "%" PRId64, tokens->shape[0]));
	add_to_config(config, "tie_word_embeddings",
		find_tensor(file->listing, "output.weight") ? "false" : "true");
	add_to_config(config, "rope_freqs",
		find_tensor(file->listing, "rope_freqs.weight") ? "true" : "false");
}

static void set_config(const struct file *file)
{
	const struct pair *architecture = find_pair(file, file->n_pairs, "general.architecture");
	struct al_text config;

	if (!architecture || !architecture->text)
		return;
	const char *own = al_format(file->arena, "%s.", architecture->text);
	al_text_init(&config);
	al_text_add(&config, "{\"model_type\": ");
	al_json_quote(&config, al_format(file->arena, "gguf_%s", architecture->text));
	for (uint64_t i = 0; i < file->n_pairs; i++) {
		const struct pair *pair = &file->pairs[i];
		add_to_config(&config, config_key(file, pair->key, own), pair->value);
		add_to_config(&config, config_key(file, pair->key, "tokenizer.ggml."), pair->value);
	}
	add_facts(file, al_format(file->arena, "%svocab_size", own), &config);
	al_text_add(&config, "}");
	file->listing->checkpoint->header_config = al_strdup(file->arena, config.data);
	al_text_finish(&config);
}

/* ---- the file ---- */

static bool list(struct al_listing *listing, struct al_error *err)
{
	struct file *file = al_alloc(1, sizeof(*file));

	*file = (struct file){.listing = listing,
		.arena = &listing->checkpoint->arena,
		.alignment = 32};
	al_cursor_init(&file->cursor, &listing->shard->source, MOST_HEADER);
	const bool ok = take_all(file, err);
	if (ok)
		set_config(file);
	free(file);
	return ok;
}

const struct al_format al_format_gguf = {
	.name = "GGUF",
	.ending = ".gguf",
	.magic = "GGUF",
	.is_alone = true,
	.list = list,
};
