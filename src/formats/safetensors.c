/* safetensors: 8 bytes of length N (little-endian), N bytes of JSON, then the data.
 *
 * The JSON is {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...} and
 * may hold "__metadata__": {"KEY": "VALUE", ...}. Offsets count from the end of the header; the
 * tensors fill the data. Writers pad the header with spaces so that the data begin at a multiple of
 * 8; it needn't be so. The reference is the library of that name (Hugging Face). It accepts two
 * things that are refused here, because neither says which tensor is meant: a tensor name that
 * comes twice (the reference keeps the last one), and a NUL in a name (others cut it there).
 * As in the reference, a "__metadata__" that is null is none. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json_reader.h"
#include "base/memory.h"
#include "formats/format.h"

enum { LENGTH_BYTES = 8, HEADER_LIMIT = 100000000 };

struct header {
	struct al_listing *listing;
	struct al_json_reader json;
	struct al_text name; /* of the tensor at hand */
	int64_t *shape; /* of the tensor at hand */
	size_t shape_room;
};

static bool read_length(const struct al_source *source, uint64_t *length, struct al_error *err)
{
	if (source->bytes < LENGTH_BYTES)
		return al_fail(err, AL_EINPUT,
			"%s: has %" PRIu64 " bytes, expected at least %d (the length "
			"of a safetensors header)",
			source->path, source->bytes, LENGTH_BYTES);
	if (!al_source_read(source, 0, length, LENGTH_BYTES, err))
		return false;
	if (*length > HEADER_LIMIT)
		return al_fail(err, AL_EINPUT,
			"%s: a header of %" PRIu64 " bytes, expected at most %d: is it "
			"safetensors?",
			source->path, *length, HEADER_LIMIT);
	if (*length > source->bytes - LENGTH_BYTES)
		return al_fail(err, AL_EINPUT,
			"%s: a header of %" PRIu64 " bytes, but only %" PRIu64 " follow",
			source->path, *length, source->bytes - LENGTH_BYTES);
	return true;
}

/* ---- one tensor ---- */

static bool read_dtype(struct header *header, const struct al_dtype **out, struct al_error *err)
{
	const char *place = header->json.p, *name;

	if (!al_json_reader_text(&header->json, "dtype", &name, err))
		return false;
	*out = al_dtype_stored(name);
	return *out
		|| al_json_reader_fail(&header->json, place, err, "unknown dtype \"%.40s\"", name);
}

static bool read_shape(struct header *header, struct al_claim *claim, struct al_error *err)
{
	struct al_arena *arena = &header->listing->checkpoint->arena;
	size_t n = 0;

	if (!al_json_reader_expect(&header->json, AL_JSON_ARRAY, "shape", err))
		return false;
	al_json_reader_enter(&header->json);
	while (al_json_reader_item(&header->json)) {
		header->shape = al_grow(arena, header->shape, n, &header->shape_room,
			sizeof(int64_t));
		if (!al_json_reader_size(&header->json, NULL, &header->shape[n++], err))
			return false;
	}
	claim->shape = header->shape;
	claim->n_dims = n;
	return true;
}

static bool read_offsets(struct header *header, struct al_claim *claim, struct al_error *err)
{
	const char *place = header->json.p;
	int64_t offsets[2] = {0};
	size_t n = 0;

	if (!al_json_reader_expect(&header->json, AL_JSON_ARRAY, "data_offsets", err))
		return false;
	al_json_reader_enter(&header->json);
	for (; al_json_reader_item(&header->json); n++) {
		if (n >= 2)
			al_json_reader_skip(&header->json);
		else if (!al_json_reader_size(&header->json, NULL, &offsets[n], err))
			return false;
	}
	claim->begin = (uint64_t)offsets[0];
	claim->end = (uint64_t)offsets[1];
	return n == 2
		|| al_json_reader_fail(&header->json, place, err,
			"\"data_offsets\" has %zu members, expected 2", n);
}

enum { KEY_DTYPE, KEY_SHAPE, KEY_OFFSETS, N_KEYS };
static const char *const keys[N_KEYS] = {"dtype", "shape", "data_offsets"};

/* Other keys are ignored, as the reference does. */
static bool read_key(struct header *header, int key, struct al_claim *claim, struct al_error *err)
{
	switch (key) {
	case KEY_DTYPE:
		return read_dtype(header, &claim->dtype, err);
	case KEY_SHAPE:
		return read_shape(header, claim, err);
	case KEY_OFFSETS:
		return read_offsets(header, claim, err);
	default:
		al_json_reader_skip(&header->json);
		return true;
	}
}

static bool read_keys(struct header *header, struct al_claim *claim, struct al_error *err)
{
	const char *place = header->json.p, *name;
	bool is_read[N_KEYS] = {false};

	al_json_reader_enter(&header->json);
	while (al_json_reader_member(&header->json, &name)) {
		int key = al_find_name(name, keys, N_KEYS);
		if (key >= 0 && is_read[key])
			return al_json_reader_fail(&header->json, NULL, err,
				"key \"%s\" appears twice", name);
		if (!read_key(header, key, claim, err))
			return false;
		if (key >= 0)
			is_read[key] = true;
	}
	for (int key = 0; key < N_KEYS; key++)
		if (!is_read[key])
			return al_json_reader_fail(&header->json, place, err,
				"tensor \"%.120s\" has no \"%s\"", claim->name, keys[key]);
	return true;
}

static bool read_tensor(struct header *header, const char *name, struct al_error *err)
{
	struct al_claim claim = {0};

	header->name.length = 0;
	al_text_add(&header->name, name);
	claim.name = header->name.data;
	return al_json_reader_expect(&header->json, AL_JSON_OBJECT, name, err)
		&& read_keys(header, &claim, err) && al_listing_add(header->listing, &claim, err);
}

/* ---- the header ---- */

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct al_metadata *)a)->key, ((const struct al_metadata *)b)->key);
}

/* Sorted, for the order of their keys says nothing. */
static bool check_metadata(const struct header *header, const char *place, size_t first,
	struct al_error *err)
{
	struct al_metadata *metadata = header->listing->checkpoint->metadata;
	size_t n = header->listing->checkpoint->n_metadata;

	if (n > first)
		qsort(metadata + first, n - first, sizeof(*metadata), compare_keys);
	for (size_t i = first + 1; i < n; i++)
		if (compare_keys(&metadata[i - 1], &metadata[i]) == 0)
			return al_json_reader_fail(&header->json, place, err,
				"key \"%.120s\" appears twice", metadata[i].key);
	return true;
}

static bool read_metadata(struct header *header, struct al_error *err)
{
	size_t first = header->listing->checkpoint->n_metadata;
	const char *place = header->json.p, *key, *value;

	if (al_json_reader_kind(&header->json) == AL_JSON_NULL) {
		al_json_reader_skip(&header->json);
		return true;
	}
	if (!al_json_reader_expect(&header->json, AL_JSON_OBJECT, "__metadata__", err))
		return false;
	al_json_reader_enter(&header->json);
	while (al_json_reader_member(&header->json, &key)) {
		if (!al_json_reader_text(&header->json, key, &value, err))
			return false;
		al_listing_add_metadata(header->listing, key, value);
	}
	return check_metadata(header, place, first, err);
}

static bool read_members(struct header *header, struct al_error *err)
{
	bool has_metadata = false;
	const char *name;

	if (!al_json_reader_expect(&header->json, AL_JSON_OBJECT, NULL, err))
		return false;
	al_json_reader_enter(&header->json);
	while (al_json_reader_member(&header->json, &name)) {
		bool is_metadata = strcmp(name, "__metadata__") == 0;
		if (is_metadata && has_metadata)
			return al_json_reader_fail(&header->json, NULL, err,
				"key \"%s\" appears twice", name);
		if (!(is_metadata ? read_metadata(header, err) : read_tensor(header, name, err)))
			return false;
		has_metadata |= is_metadata;
	}
	return true;
}

static bool read_text(struct header *header, const char *text, size_t length, struct al_error *err)
{
	struct al_shard *shard = header->listing->shard;

	shard->header_bytes = LENGTH_BYTES + length;
	shard->header_text = LENGTH_BYTES;
	shard->header_hash = al_hash(AL_HASH_EMPTY, text, length);
	header->listing->data_offset = shard->header_bytes;
	if (!al_json_reader_init(&header->json, shard->source.path, text, length, err))
		return false;
	al_text_init(&header->name);
	bool ok = read_members(header, err);
	al_text_finish(&header->name);
	al_json_reader_finish(&header->json);
	return ok;
}

static bool list(struct al_listing *listing, struct al_error *err)
{
	struct header header = {.listing = listing};
	const struct al_source *source = &listing->shard->source;
	uint64_t length;

	if (!read_length(source, &length, err))
		return false;
	char *text = al_alloc((size_t)length + 1, 1);
	bool ok = al_source_read(source, LENGTH_BYTES, text, (size_t)length, err)
		&& read_text(&header, text, (size_t)length, err);
	free(text);
	return ok;
}

static void describe(struct al_checkpoint *checkpoint)
{
	checkpoint->header_config = al_checkpoint_metadata(checkpoint, AL_CHECKPOINT_CONFIG);
}

const struct al_format al_format_safetensors = {
	.name = "safetensors",
	.ending = ".safetensors",
	.is_packed = true,
	.list = list,
	.describe = describe,
};
