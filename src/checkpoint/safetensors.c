/* safetensors: 8 bytes of length N (little-endian), N bytes of JSON, then the data.
 *
 * The JSON is {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...} and may
 * hold "__metadata__": {"KEY": "VALUE", ...}. Offsets count from the end of the header; the tensors
 * fill the data. Writers pad the header with spaces so that the data begin at a multiple of 8; it
 * needn't be so. The reference is the library of that name (Hugging Face); where it is lax, a tensor
 * name that comes twice is refused here. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "checkpoint/format.h"

enum { LENGTH_BYTES = 8, HEADER_LIMIT = 100000000 };

struct header {
	struct al_listing *listing;
	struct al_json json;
	int64_t *shape;          /* of the tensor at hand */
	size_t shape_room;
};

static bool read_length(const struct al_source *source, uint64_t *length, struct al_error *err)
{
	if (source->bytes < LENGTH_BYTES)
		return al_fail(err, AL_EINPUT, "%s: has %" PRIu64 " bytes, expected at least %d (the length "
			"of a safetensors header)", source->path, source->bytes, LENGTH_BYTES);
	if (!al_source_read(source, 0, length, LENGTH_BYTES, err))
		return false;
	if (*length > HEADER_LIMIT)
		return al_fail(err, AL_EINPUT, "%s: a header of %" PRIu64 " bytes, expected at most %d: is it "
			"safetensors?", source->path, *length, HEADER_LIMIT);
	if (*length > source->bytes - LENGTH_BYTES)
		return al_fail(err, AL_EINPUT, "%s: a header of %" PRIu64 " bytes, but only %" PRIu64
			" follow", source->path, *length, source->bytes - LENGTH_BYTES);
	return true;
}

static bool read_header(struct header *header, struct al_error *err)
{
	struct al_shard *shard = header->listing->shard;
	uint64_t length;

	if (!read_length(&shard->source, &length, err))
		return false;
	char *text = malloc((size_t)length + 1);
	if (!text)
		abort();
	bool ok = al_source_read(&shard->source, LENGTH_BYTES, text, (size_t)length, err);
	if (ok) {
		shard->header_bytes = LENGTH_BYTES + length;
		shard->header_hash = al_hash(AL_HASH_EMPTY, text, (size_t)length);
		header->listing->data_offset = shard->header_bytes;
		ok = al_json_parse(&header->json, shard->source.path, text, (size_t)length, err);
	}
	free(text);
	return ok;
}

static bool read_dtype(const struct header *header, const struct cJSON *node,
	const struct al_dtype **out, struct al_error *err)
{
	const char *name;

	if (!al_json_text(&header->json, node, &name, err))
		return false;
	*out = al_dtype_find(name);
	return *out || al_json_fail(&header->json, node, err, "unknown dtype \"%.40s\"", name);
}

static bool read_shape(struct header *header, const struct cJSON *node, struct al_claim *claim,
	struct al_error *err)
{
	struct al_arena *arena = &header->listing->checkpoint->arena;
	size_t n = 0;

	if (!al_json_expect(&header->json, node, AL_JSON_ARRAY, err))
		return false;
	al_json_each(child, node) {
		header->shape = al_grow(arena, header->shape, n, &header->shape_room, sizeof(int64_t));
		if (!al_json_whole_from(&header->json, child, 0, &header->shape[n++], err))
			return false;
	}
	claim->shape = header->shape;
	claim->n_dims = n;
	return true;
}

static bool read_offsets(const struct header *header, const struct cJSON *node,
	struct al_claim *claim, struct al_error *err)
{
	int64_t place[2];

	if (!al_json_expect(&header->json, node, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(node) != 2)
		return al_json_fail(&header->json, node, err, "\"data_offsets\" has %zu members, expected 2",
			al_json_size(node));
	for (size_t i = 0; i < 2; i++)
		if (!al_json_whole_from(&header->json, al_json_at(node, i), 0, &place[i], err))
			return false;
	claim->begin = (uint64_t)place[0];
	claim->end = (uint64_t)place[1];
	return true;
}

static bool expect_key(const struct header *header, const struct cJSON *node, const char *key,
	bool is_there, struct al_error *err)
{
	return is_there || al_json_fail(&header->json, node, err, "tensor \"%.120s\" has no \"%s\"",
		al_json_key(node), key);
}

/* Other keys are ignored, as the reference does. */
static bool read_tensor(struct header *header, const struct cJSON *node, struct al_error *err)
{
	struct al_claim claim = {.name = al_json_key(node)};
	bool has_shape = false, has_offsets = false;

	if (!al_json_expect(&header->json, node, AL_JSON_OBJECT, err))
		return false;
	al_json_each(member, node) {
		const char *key = al_json_key(member);
		bool ok = true;
		if (strcmp(key, "dtype") == 0) {
			ok = read_dtype(header, member, &claim.dtype, err);
		} else if (strcmp(key, "shape") == 0) {
			ok = has_shape = read_shape(header, member, &claim, err);
		} else if (strcmp(key, "data_offsets") == 0) {
			ok = has_offsets = read_offsets(header, member, &claim, err);
		}
		if (!ok)
			return false;
	}
	return expect_key(header, node, "dtype", claim.dtype, err)
		&& expect_key(header, node, "shape", has_shape, err)
		&& expect_key(header, node, "data_offsets", has_offsets, err)
		&& al_listing_add(header->listing, &claim, err);
}

static bool read_metadata(struct header *header, const struct cJSON *node, struct al_error *err)
{
	if (!al_json_expect(&header->json, node, AL_JSON_OBJECT, err))
		return false;
	al_json_each(member, node) {
		const char *value;
		if (!al_json_text(&header->json, member, &value, err))
			return false;
		al_listing_add_metadata(header->listing, al_json_key(member), value);
	}
	return true;
}

/* Sizes are integers as written: 4e0 is none, though its value is whole. */
static bool read_members(struct header *header, struct al_error *err)
{
	if (!al_json_expect(&header->json, header->json.root, AL_JSON_OBJECT, err)
		|| !al_json_only_integers(&header->json, err))
		return false;
	al_json_each(member, header->json.root) {
		bool is_metadata = strcmp(al_json_key(member), "__metadata__") == 0;
		if (!(is_metadata ? read_metadata : read_tensor)(header, member, err))
			return false;
	}
	return true;
}

static bool list(struct al_listing *listing, struct al_error *err)
{
	struct header header = {.listing = listing};

	if (!read_header(&header, err))
		return false;
	bool ok = read_members(&header, err);
	al_json_finish(&header.json);
	return ok;
}

const struct al_format al_format_safetensors = {
	.name = "safetensors", .ending = ".safetensors", .is_packed = true, .list = list,
};
