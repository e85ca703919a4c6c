/* Writing safetensors; safetensors.c describes the format. Several files have an index. */
#include "formats/safetensors.h"

#include "base/file.h"
#include "base/json.h"
#include "base/output.h"

enum { NUMBERS_AT_ONCE = 4096, ALIGNMENT = 8 };

struct al_safetensors_writer {
	struct al_output *output;
	uint64_t left; /* bytes of data that the header promises and that are still to come */
};

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

static bool measure(const struct al_tensor *tensor, uint64_t *bytes, struct al_error *err)
{
	int64_t n;

	if (!al_multiply_dims(1, tensor->shape, tensor->n_dims, &n))
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": the product of its dimensions is too large",
			tensor->name);
	return al_dtype_size(tensor->dtype, n, bytes)
		|| al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": %" PRId64
			" elements of %s don't make a whole number of bytes below 2^64",
			tensor->name, n, tensor->dtype->stored);
}

static bool add_tensor(struct al_text *header, const struct al_tensor *tensor, uint64_t *end,
	struct al_error *err)
{
	uint64_t bytes, begin = *end;

	if (!measure(tensor, &bytes, err))
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

static bool begin_file(struct al_safetensors_writer *writer, const char *path,
	const struct al_text *header, struct al_error *err)
{
	uint64_t length = header->length;

	if (!al_output_open(&writer->output, path, err))
		return false;
	if (al_output_append(writer->output, &length, sizeof(length), err)
		&& al_output_append(writer->output, header->data, header->length, err))
		return true;
	al_output_abandon(writer->output);
	return false;
}

bool al_safetensors_create(struct al_safetensors_writer **out, const char *path,
	const struct al_tensor *tensors, size_t n_tensors, const struct al_metadata *metadata,
	size_t n_metadata, struct al_error *err)
{
	struct al_safetensors_writer *writer = *out = al_calloc(1, sizeof(*writer));
	AL_TEXT(header);

	if (al_safetensors_add_header(&header, tensors, n_tensors, metadata, n_metadata,
		    &writer->left, err)
		&& begin_file(writer, path, &header, err))
		return true;
	free(writer);
	*out = NULL;
	return false;
}

bool al_safetensors_append(struct al_safetensors_writer *writer, const void *bytes, size_t length,
	struct al_error *err)
{
	if (length > writer->left)
		return al_fail(err, AL_EINPUT, "%zu bytes of tensors, expected %" PRIu64 " more",
			length, writer->left);
	writer->left -= length;
	return al_output_append(writer->output, bytes, length, err);
}

bool al_safetensors_append_doubles(struct al_safetensors_writer *writer,
	const struct al_dtype *dtype, const double *values, size_t n, struct al_error *err)
{
	unsigned char bytes[8 * NUMBERS_AT_ONCE];

	if (!dtype->from_double)
		return al_fail(err, AL_EINPUT, "numbers of type %s can't be written",
			dtype->stored);
	for (size_t done = 0; done < n;) {
		size_t now = n - done < NUMBERS_AT_ONCE ? n - done : NUMBERS_AT_ONCE;
		dtype->from_double(values + done, now, bytes);
		if (!al_safetensors_append(writer, bytes, now * dtype->block_bytes, err))
			return false;
		done += now;
	}
	return true;
}

const char *al_safetensors_written(const struct al_safetensors_writer *writer)
{
	return al_output_written(writer->output);
}

bool al_safetensors_commit(struct al_safetensors_writer *writer, struct al_error *err)
{
	bool ok = writer->left == 0
		|| al_fail(err, AL_EINPUT, "%" PRIu64 " bytes of tensors are missing",
			writer->left);

	if (ok)
		ok = al_output_commit(writer->output, err);
	else
		al_output_abandon(writer->output);
	free(writer);
	return ok;
}

void al_safetensors_abandon(struct al_safetensors_writer *writer)
{
	if (writer)
		al_output_abandon(writer->output);
	free(writer);
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
		if (!measure(&tensors[i], &bytes, err))
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
