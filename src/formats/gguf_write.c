/* Writing GGUF. */
#include "formats/gguf_write.h"

#include "base/spill.h"
#include "formats/gguf.h"

enum { VERSION = 3, COUNT_OF_PAIRS_AT = 16 };
enum { VALUE_U32 = 4, VALUE_I32, VALUE_F32, VALUE_FLAG, VALUE_TEXT, VALUE_LIST };

static void add_u32(struct al_text *out, uint32_t number)
{
	al_text_add_bytes(out, (const char *)&number, sizeof(number));
}

static void add_u64(struct al_text *out, uint64_t number)
{
	al_text_add_bytes(out, (const char *)&number, sizeof(number));
}

static void add_text(struct al_text *out, const char *text)
{
	add_u64(out, strlen(text));
	al_text_add(out, text);
}

/* ---- metadata ---- */

struct metadata {
	const struct al_shard *source; /* or NULL */
	const struct al_gguf_entry *entries;
	size_t n_entries;
	uint64_t n; /* that are in the header already */
};

static void add_list(struct al_text *out, const struct al_gguf_entry *entry)
{
	add_u32(out, VALUE_LIST);
	add_u32(out, entry->list ? VALUE_TEXT : entry->reals ? VALUE_F32 : VALUE_I32);
	add_u64(out, entry->n_list);
	for (size_t i = 0; entry->list && i < entry->n_list; i++)
		add_text(out, entry->list[i]);
	if (entry->reals)
		al_text_add_bytes(out, (const char *)entry->reals,
			entry->n_list * sizeof(*entry->reals));
	if (entry->wholes)
		al_text_add_bytes(out, (const char *)entry->wholes,
			entry->n_list * sizeof(*entry->wholes));
}

static void add_entry(struct al_text *out, struct metadata *metadata,
	const struct al_gguf_entry *entry)
{
	if (entry->is_left_out)
		return;
	metadata->n++;
	add_text(out, entry->key);
	if (entry->list || entry->reals || entry->wholes) {
		add_list(out, entry);
	} else if (entry->text) {
		add_u32(out, VALUE_TEXT);
		add_text(out, entry->text);
	} else if (entry->is_flag) {
		add_u32(out, VALUE_FLAG);
		al_text_add_bytes(out, entry->number ? "\1" : "\0", 1);
	} else if (entry->is_real) {
		add_u32(out, VALUE_F32);
		al_text_add_bytes(out, (const char *)&entry->real, sizeof(entry->real));
	} else {
		add_u32(out, VALUE_U32);
		add_u32(out, entry->number);
	}
}

static const struct al_gguf_entry *find_entry(const struct metadata *metadata, const char *key)
{
	for (size_t i = 0; i < metadata->n_entries; i++)
		if (strcmp(metadata->entries[i].key, key) == 0)
			return &metadata->entries[i];
	return NULL;
}

static bool copy_pair(struct al_text *out, struct metadata *metadata,
	const struct al_gguf_pair *pair, struct al_error *err)
{
	const size_t at = out->length, bytes = (size_t)(pair->end - pair->begin);

	metadata->n++;
	al_text_add_repeated(out, '\0', bytes);
	return al_source_read(&metadata->source->source, pair->begin, out->data + at, bytes, err);
}

static bool add_metadata(struct al_text *out, struct metadata *metadata, struct al_error *err)
{
	const uint64_t n_pairs = metadata->source ? metadata->source->n_pairs : 0;

	for (uint64_t i = 0; i < n_pairs; i++) {
		const struct al_gguf_pair *pair = &metadata->source->pairs[i];
		const struct al_gguf_entry *entry = find_entry(metadata, pair->key);
		if (entry)
			add_entry(out, metadata, entry);
		else if (!copy_pair(out, metadata, pair, err))
			return false;
	}
	for (size_t i = 0; i < metadata->n_entries; i++)
		if (!metadata->source
			|| !al_gguf_find_pair(metadata->source, metadata->entries[i].key))
			add_entry(out, metadata, &metadata->entries[i]);
	memcpy(out->data + COUNT_OF_PAIRS_AT, &metadata->n, sizeof(metadata->n));
	return true;
}

/* ---- tensors ---- */

static uint64_t padding(uint64_t bytes, uint64_t alignment)
{
	return (alignment - bytes % alignment) % alignment;
}

/* `at` is where it begins, behind the header; then where the next one does. */
static bool add_tensor(struct al_text *out, const struct al_tensor *tensor, uint64_t alignment,
	uint64_t *at, uint64_t *data_bytes, struct al_error *err)
{
	const int type = al_gguf_type(tensor->dtype);
	uint64_t bytes;

	if (type < 0)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\" has dtype %s, which a GGUF file can't hold",
			tensor->name, al_dtype_title(tensor->dtype));
	if (!al_tensor_measure(tensor, &bytes, err))
		return false;
	add_text(out, tensor->name);
	add_u32(out, (uint32_t)tensor->n_dims);
	for (size_t i = tensor->n_dims; i-- > 0;)
		add_u64(out, (uint64_t)tensor->shape[i]);
	add_u32(out, (uint32_t)type);
	add_u64(out, *at);
	*data_bytes += bytes;
	if (__builtin_add_overflow(*at, bytes, at)
		|| __builtin_add_overflow(*at, padding(*at, alignment), at))
		return al_fail(err, AL_EINPUT, "the tensors have 2^64 bytes or more");
	return true;
}

/* ---- the file ---- */

bool al_gguf_create(struct al_tensor_writer **out, const char *path, const struct al_shard *source,
	const struct al_gguf_entry *entries, size_t n_entries, const struct al_tensor *tensors,
	size_t n_tensors, struct al_error *err)
{
	struct metadata metadata = {source, entries, n_entries, 0};
	const uint64_t alignment = al_gguf_alignment(source);
	uint64_t at = 0, data_bytes = 0;
	AL_TEXT(header);

	*out = NULL;
	al_text_add(&header, "GGUF");
	add_u32(&header, VERSION);
	add_u64(&header, n_tensors);
	add_u64(&header, 0);
	if (!add_metadata(&header, &metadata, err))
		return false;
	for (size_t i = 0; i < n_tensors; i++)
		if (!add_tensor(&header, &tensors[i], alignment, &at, &data_bytes, err))
			return false;
	return al_tensor_writer_create(out, path, &header, data_bytes, alignment, err);
}

bool al_gguf_make_header(struct al_checkpoint *checkpoint, struct al_spill *aside,
	const struct al_gguf_entry *entries, size_t n, struct al_error *err)
{
	struct al_shard *shard = &checkpoint->shards[0];
	struct al_listing listing = {.checkpoint = checkpoint, .shard = shard};
	AL_FREED struct al_gguf *gguf = al_alloc(1, sizeof(*gguf));
	struct metadata metadata = {.entries = entries, .n_entries = n};
	uint64_t at;
	AL_TEXT(bytes);

	for (size_t i = 0; i < n; i++)
		add_entry(&bytes, &metadata, &entries[i]);
	if (!al_spill_open(aside, NULL, err)
		|| !al_spill_put(aside, bytes.data, bytes.length, &at, err))
		return false;
	shard->source = aside->source;
	shard->source.path = checkpoint->path;
	*gguf = (struct al_gguf){.listing = &listing, .arena = &checkpoint->arena};
	al_cursor_init(&gguf->cursor, &shard->source);
	if (!al_gguf_take_pairs(gguf, metadata.n, err))
		return false;
	al_gguf_set_config(checkpoint);
	return true;
}

static bool append(struct al_tensor_writer *writer, const struct al_gguf_vector *vectors, size_t n,
	struct al_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (!al_tensor_writer_append(writer, vectors[i].numbers,
			    vectors[i].n * sizeof(float), err)
			|| !al_tensor_writer_align(writer, err))
			return false;
	return true;
}

bool al_gguf_write(const char *path, const struct al_gguf_entry *entries, size_t n_entries,
	const struct al_gguf_vector *vectors, size_t n_vectors, struct al_error *err)
{
	AL_ARENA(arena);
	struct al_tensor *tensors = al_new_array(&arena, struct al_tensor, n_vectors + 1);
	struct al_tensor_writer *writer;

	for (size_t i = 0; i < n_vectors; i++) {
		int64_t *shape = al_new(&arena, int64_t);
		*shape = (int64_t)vectors[i].n;
		tensors[i] = (struct al_tensor){.name = vectors[i].name,
			.dtype = al_dtype_named("f32"),
			.shape = shape,
			.n_dims = 1};
	}
	if (!al_gguf_create(&writer, path, NULL, entries, n_entries, tensors, n_vectors, err))
		return false;
	if (append(writer, vectors, n_vectors, err))
		return al_tensor_writer_commit(writer, err);
	al_tensor_writer_abandon(writer);
	return false;
}
