/* Writing the index of a sharded folder. */
#include "formats/index.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "formats/safetensors.h"

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
		if (!al_safetensors_measure(&tensors[i], &bytes, err))
			return false;
		if (__builtin_add_overflow(*out, bytes, out))
			return al_fail(err, AL_EINPUT, "the tensors have 2^64 bytes or more");
	}
	return true;
}

bool al_index_write(const char *path, const struct al_tensor *tensors, size_t n,
	const char *const *shards, struct al_error *err)
{
	struct al_text text;
	uint64_t bytes;

	if (!add_up(tensors, n, &bytes, err))
		return false;
	al_text_init(&text);
	add_index(&text, tensors, n, shards, bytes);
	const bool ok = al_file_write(path, text.data, text.length, err);
	al_text_finish(&text);
	return ok;
}
