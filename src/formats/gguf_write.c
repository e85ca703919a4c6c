/* Writing GGUF. */
#include "formats/gguf_write.h"

#include "base/file.h"
#include "base/output.h"

enum { VERSION = 3, ALIGNMENT = 32 };
enum { VALUE_U32 = 4, VALUE_TEXT = 8, VALUE_LIST = 9, TYPE_F32 = 0 };

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

static void add_entry(struct al_text *out, const struct al_gguf_entry *entry)
{
	add_text(out, entry->key);
	if (entry->text) {
		add_u32(out, VALUE_TEXT);
		add_text(out, entry->text);
	} else if (entry->list) {
		add_u32(out, VALUE_LIST);
		add_u32(out, VALUE_TEXT);
		add_u64(out, entry->n_list);
		for (size_t i = 0; i < entry->n_list; i++)
			add_text(out, entry->list[i]);
	} else {
		add_u32(out, VALUE_U32);
		add_u32(out, entry->number);
	}
}

static uint64_t align(uint64_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void add_tensor(struct al_text *out, const struct al_gguf_vector *vector, uint64_t *at)
{
	add_text(out, vector->name);
	add_u32(out, 1);
	add_u64(out, vector->n);
	add_u32(out, TYPE_F32);
	add_u64(out, *at);
	*at = align(*at + vector->n * sizeof(float));
}

static void pad(struct al_text *out)
{
	al_text_add_repeated(out, '\0', (size_t)(align(out->length) - out->length));
}

bool al_gguf_write(const char *path, const struct al_gguf_entry *entries, size_t n_entries,
	const struct al_gguf_vector *vectors, size_t n_vectors, struct al_error *err)
{
	AL_TEXT(out);
	uint64_t at = 0;

	al_text_add(&out, "GGUF");
	add_u32(&out, VERSION);
	add_u64(&out, n_vectors);
	add_u64(&out, n_entries);
	for (size_t i = 0; i < n_entries; i++)
		add_entry(&out, &entries[i]);
	for (size_t i = 0; i < n_vectors; i++)
		add_tensor(&out, &vectors[i], &at);
	pad(&out);
	for (size_t i = 0; i < n_vectors; i++) {
		al_text_add_bytes(&out, (const char *)vectors[i].numbers,
			vectors[i].n * sizeof(float));
		pad(&out);
	}
	return al_file_write(path, out.data, out.length, err);
}
