/* Writing safetensors; safetensors.c describes the format. Several files have an index. */
#include "formats/safetensors.h"

#include "base/file.h"
#include "base/json.h"
#include "base/output.h"

enum { ALIGNMENT = 8 };

/* ---- the header ---- */

static void add_metadata(struct al_text *header, const struct al_metadata *metadata, size_t n)
{
	al_text_add(header, "\"__metadata__\":{");
	for (size_t i = 0; i < n; i++) {
		al_text_add(header, i ? "," : "");
		al_json_quote(header, metadata[i].key);
		al_text_add(header, ":");
		al_json_quote(header, metadata[i].value);
	}
	al_text_add(header, "}");
}

static bool add_tensor(struct al_text *header, const struct al_tensor *tensor, uint64_t *end,
	struct al_error *err)
{
	uint64_t bytes, begin = *end;

	if (!al_tensor_measure(tensor, &bytes, err))
		return false;
	if (__builtin_add_overflow(begin, bytes, end))
		return al_fail(err, AL_EINPUT, "the tensors have 2^64 bytes or more");
	al_json_quote(header, tensor->name);
	al_text_addf(header, ":{\"dtype\":\"%s\",\"shape\":[", tensor->dtype->stored);
	for (size_t i = 0; i < tensor->n_dims; i++)
		al_text_addf(header, "%s%" PRId64, i ? "," : "", tensor->shape[i]);
	al_text_addf(header, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, *end);
	return true;
}

bool al_safetensors_add_header(struct al_text *header, const struct al_tensor *tensors,
	size_t n_tensors, const struct al_metadata *metadata, size_t n_metadata,
	uint64_t *data_bytes, struct al_error *err)
{
	al_text_add(header, "{");
	if (n_metadata)
		add_metadata(header, metadata, n_metadata);
	*data_bytes = 0;
	for (size_t i = 0; i < n_tensors; i++) {
		al_text_add(header, i || n_metadata ? "," : "");
		if (!add_tensor(header, &tensors[i], data_bytes, err))
			return false;
	}
	al_text_add(header, "}");
	al_text_add_repeated(header, ' ', (ALIGNMENT - header->length % ALIGNMENT) % ALIGNMENT);
	return true;
}

/* ---- the file ---- */

/* With its length in front. */
static bool make_header(struct al_text *out, const struct al_tensor *tensors, size_t n_tensors,
	const struct al_metadata *metadata, size_t n_metadata, uint64_t *data_bytes,
	struct al_error *err)
{
	AL_TEXT(header);

	if (!al_safetensors_add_header(&header, tensors, n_tensors, metadata, n_metadata,
		    data_bytes, err))
		return false;
	const uint64_t length = header.length;
	al_text_add_bytes(out, (const char *)&length, sizeof(length));
	al_text_add_bytes(out, header.data, header.length);
	return true;
}

bool al_safetensors_create(struct al_tensor_writer **out, const char *path,
	const struct al_tensor *tensors, size_t n_tensors, const struct al_metadata *metadata,
	size_t n_metadata, struct al_error *err)
{
	AL_TEXT(header);
	uint64_t data_bytes;

	*out = NULL;
	return make_header(&header, tensors, n_tensors, metadata, n_metadata, &data_bytes, err)
		&& al_tensor_writer_create(out, path, &header, data_bytes, 1, err);
}

bool al_safetensors_create_kept(struct al_tensor_writer **out, const char *path, uint64_t kept,
	const struct al_tensor *tensors, size_t n_tensors, const struct al_metadata *metadata,
	size_t n_metadata, struct al_error *err)
{
	AL_TEXT(header);
	uint64_t data_bytes;

	*out = NULL;
	return make_header(&header, tensors, n_tensors, metadata, n_metadata, &data_bytes, err)
		&& al_tensor_writer_create_kept(out, path, kept, &header, data_bytes, 1, err);
}

/* ---- the index of a sharded folder; index.c describes the format ---- */

static void add_place(struct al_text *out, const struct al_tensor *tensor,
	const char *const *shards)
{
	al_text_add(out, "    ");
	al_json_quote(out, tensor->name);
	al_text_add(out, ": ");
	al_json_quote(out, shards[tensor->shard]);
}

/* The form of the libraries that write such folders. */
static void add_index(struct al_text *out, const struct al_tensor *tensors, size_t n,
	const char *const *shards, uint64_t bytes)
{
	al_text_addf(out,
		"{\n  \"metadata\": {\n    \"total_size\": %" PRIu64
		"\n  },\n  \"weight_map\": {\n",
		bytes);
	for (size_t i = 0; i < n; i++) {
		add_place(out, &tensors[i], shards);
		al_text_add(out, i + 1 < n ? ",\n" : "\n");
	}
	al_text_add(out, "  }\n}\n");
}

static bool add_up(const struct al_tensor *tensors, size_t n, uint64_t *out, struct al_error *err)
{
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t bytes;
		if (!al_tensor_measure(&tensors[i], &bytes, err))
			return false;
		if (__builtin_add_overflow(*out, bytes, out))
			return al_fail(err, AL_EINPUT, "the tensors have 2^64 bytes or more");
	}
	return true;
}

bool al_index_write(const char *path, const struct al_tensor *tensors, size_t n,
	const char *const *shards, struct al_error *err)
{
	AL_TEXT(text);
	uint64_t bytes;

	if (!add_up(tensors, n, &bytes, err))
		return false;
	add_index(&text, tensors, n, shards, bytes);
	return al_file_write(path, text.data, text.length, err);
}
