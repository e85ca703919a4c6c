/* safetensors: 8 bytes of length N (little-endian), N bytes of JSON, then the data.
 *
 * The JSON is {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...} and
 * may hold "__metadata__": {"KEY": "VALUE", ...}. Offsets count from the end of the header; the
 * tensors fill the data. Writers pad the header with spaces so that the data begin at a multiple of
 * 8; it needn't be so. The reference is the library of that name (Hugging Face). It accepts two
 * things that are refused here, because either leaves open which tensor is meant: a tensor name
 * that comes twice (the reference keeps the last one), and a NUL in a name (others cut it there).
 * As in the reference, a "__metadata__" that is null is none. */

#include "base/json.h"
#include "formats/format.h"

enum { LENGTH_BYTES = 8, HEADER_LIMIT = 100000000 };

struct header {
	struct al_listing *listing;
	struct al_json json;
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
	if (*length == 0)
		return al_fail(err, AL_EINPUT, "%s: the text is empty, expected JSON",
			source->path);
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

static bool need(const struct header *header, const struct al_item *tensor, const char *key,
	enum al_json_kind kind, const struct al_item **out, struct al_error *err)
{
	*out = al_json_get(tensor, key);
	if (!*out)
		return al_json_fail(&header->json, tensor, err, "tensor \"%.120s\" has no \"%s\"",
			tensor->key, key);
	return al_json_expect(&header->json, *out, kind, err);
}

static bool read_dtype(const struct header *header, const struct al_item *tensor,
	const struct al_dtype **out, struct al_error *err)
{
	const struct al_item *name;

	if (!need(header, tensor, "dtype", AL_JSON_TEXT, &name, err))
		return false;
	*out = al_dtype_stored(name->text);
	return *out
		|| al_json_fail(&header->json, name, err, "unknown dtype \"%.40s\"", name->text);
}

static bool read_shape(struct header *header, const struct al_item *tensor, struct al_tensor *claim,
	struct al_error *err)
{
	struct al_arena *arena = &header->listing->checkpoint->arena;
	const struct al_item *shape;

	if (!need(header, tensor, "shape", AL_JSON_ARRAY, &shape, err))
		return false;
	al_json_each (dim, shape) {
		header->shape = al_grow(arena, header->shape, claim->n_dims, &header->shape_room,
			sizeof(int64_t));
		if (!al_json_digits(&header->json, dim, &header->shape[claim->n_dims++], err))
			return false;
	}
	claim->shape = header->shape;
	return true;
}

static bool read_offsets(const struct header *header, const struct al_item *tensor,
	struct al_tensor *claim, struct al_error *err)
{
	const struct al_item *list;
	int64_t offsets[2] = {0};
	size_t n = 0;

	if (!need(header, tensor, "data_offsets", AL_JSON_ARRAY, &list, err))
		return false;
	al_json_each (offset, list)
		if (n++ < 2 && !al_json_digits(&header->json, offset, &offsets[n - 1], err))
			return false;
	if (n != 2)
		return al_json_fail(&header->json, list, err,
			"\"data_offsets\" has %zu members, expected 2", n);
	claim->offset = (uint64_t)offsets[0];
	claim->bytes = (uint64_t)(offsets[1] - offsets[0]);
	return offsets[0] <= offsets[1]
		|| al_json_fail(&header->json, list, err,
			"tensor \"%.120s\" begins at byte %" PRId64 ", after its end %" PRId64,
			tensor->key, offsets[0], offsets[1]);
}

/* Other keys are ignored, as the reference does. */
static bool read_tensor(struct header *header, const struct al_item *tensor, struct al_error *err)
{
	struct al_tensor claim = {.name = tensor->key};

	return al_json_expect(&header->json, tensor, AL_JSON_OBJECT, err)
		&& read_dtype(header, tensor, &claim.dtype, err)
		&& read_shape(header, tensor, &claim, err)
		&& read_offsets(header, tensor, &claim, err)
		&& al_listing_add(header->listing, &claim, err);
}

/* ---- the header ---- */

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct al_metadata *)a)->key, ((const struct al_metadata *)b)->key);
}

/* Sorted, for the order of their keys means nothing. */
static bool read_metadata(struct header *header, const struct al_item *node, struct al_error *err)
{
	struct al_checkpoint *checkpoint = header->listing->checkpoint;
	const size_t first = checkpoint->n_metadata;
	const char *value;

	if (al_json_kind(node) == AL_JSON_NULL)
		return true;
	if (!al_json_expect(&header->json, node, AL_JSON_OBJECT, err))
		return false;
	al_json_each (member, node) {
		if (!al_json_text(&header->json, member, &value, err))
			return false;
		al_listing_add_metadata(header->listing, member->key, value);
	}
	if (checkpoint->n_metadata > first)
		qsort(checkpoint->metadata + first, checkpoint->n_metadata - first,
			sizeof(*checkpoint->metadata), compare_keys);
	return true;
}

static bool read_members(struct header *header, struct al_error *err)
{
	if (!al_json_expect(&header->json, header->json.root, AL_JSON_OBJECT, err))
		return false;
	al_json_each (member, header->json.root) {
		const bool is_metadata = strcmp(member->key, "__metadata__") == 0;
		if (!(is_metadata ? read_metadata(header, member, err)
				  : read_tensor(header, member, err)))
			return false;
	}
	return true;
}

static bool list(struct al_listing *listing, struct al_error *err)
{
	struct header header = {.listing = listing};
	struct al_shard *shard = listing->shard;
	uint64_t length;

	if (!read_length(&shard->source, &length, err))
		return false;
	AL_FREED char *text = al_alloc((size_t)length + 1, 1);
	shard->header_bytes = listing->data_offset = LENGTH_BYTES + length;
	shard->header_text = LENGTH_BYTES;
	if (!al_source_read(&shard->source, LENGTH_BYTES, text, (size_t)length, err)
		|| !al_json_parse(&header.json, shard->source.path, text, (size_t)length, err))
		return false;
	const bool ok = read_members(&header, err);
	al_json_finish(&header.json);
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
